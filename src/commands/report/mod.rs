//! `hookkeeper report`: what happened, as one HTML file that needs nothing else. Sessions are read
//! from their journals ([`session`]), laid out ([`axis`], [`lane`]) and printed ([`page`]); nothing
//! here touches a file. The page and its sections are templates (maud); style and script are inlined.

pub mod axis;
pub mod bars;
pub mod commands;
pub mod costs;
pub mod errors;
pub mod events;
pub mod findings;
pub mod hook_times;
pub mod lane;
pub mod loops;
pub mod mark;
pub mod page;
pub mod policy;
pub mod session;
pub mod text;
pub mod timeline;
