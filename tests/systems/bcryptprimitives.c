/* Wine 8 lacks bcryptprimitives.dll, from which Rust programs take their random numbers on Windows.
   run.py builds this in its place. It is used under Wine only, and is part of no release. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length)
{
    return SystemFunction036(buffer, (ULONG)length);
}
