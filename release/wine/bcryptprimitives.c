/* wine before 9 has no bcryptprimitives.dll, which Rust's library wants for random numbers. */
unsigned char __stdcall SystemFunction036(void *buffer, unsigned long length);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *buffer, unsigned long long length) {
    return SystemFunction036(buffer, (unsigned long)length);
}
