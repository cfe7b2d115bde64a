//! A static program that does nothing, on the C library that Rust brings for musl.
#![no_main]

#[unsafe(no_mangle)]
pub extern "C" fn main() -> i32 {
    0
}
