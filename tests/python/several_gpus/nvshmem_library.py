"""A bitcode library with NVSHMEM's names, for ranks whose memory one GPU reaches, and its use as torch makes it.

As in the real one, functions are C's: pointers are generic, most have no result, the functions of a CTA are called by all
of its threads, and their state of the job is in a variable that the host writes after a kernel's code is loaded.
"""

import subprocess

import pantile as triton
import pantile.language as tl
import pytest
from pantile.language import core
from pantile.runtime.jit import KernelInterface

STATE = b"nvshmemi_device_state_d"  # this rank, number of ranks, address of a table of their memory

TEXT = """
target triple = "nvptx64-nvidia-cuda"
@nvshmemi_device_state_d = addrspace(4) externally_initialized global [3 x i64] zeroinitializer, align 8
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()

define internal i64 @word(i32 %which) {
  %generic = addrspacecast ptr addrspace(4) @nvshmemi_device_state_d to ptr
  %at = getelementptr i64, ptr %generic, i32 %which
  %value = load i64, ptr %at, align 8
  ret i64 %value
}
define i32 @nvshmem_my_pe() {
  %wide = call i64 @word(i32 0)
  %number = trunc i64 %wide to i32
  ret i32 %number
}
define i32 @nvshmem_n_pes() {
  %wide = call i64 @word(i32 1)
  %number = trunc i64 %wide to i32
  ret i32 %number
}
define internal ptr @at_peer(ptr %own, i32 %pe) {
  %me = call i32 @nvshmem_my_pe()
  %address = call i64 @word(i32 2)
  %table = inttoptr i64 %address to ptr
  %my_at = getelementptr i64, ptr %table, i32 %me
  %my_base = load i64, ptr %my_at, align 8
  %peer_at = getelementptr i64, ptr %table, i32 %pe
  %peer_base = load i64, ptr %peer_at, align 8
  %distance = sub i64 %peer_base, %my_base
  %peer = getelementptr i8, ptr %own, i64 %distance
  ret ptr %peer
}
define void @nvshmem_fence() {
  fence seq_cst
  ret void
}
define void @nvshmemx_putmem_block(ptr %dest, ptr %source, i64 %bytes, i32 %pe) {
start:
  call void @llvm.nvvm.barrier0()
  %peer = call ptr @at_peer(ptr %dest, i32 %pe)
  %words = udiv i64 %bytes, 4
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = zext i32 %thread to i64
  br label %check
check:
  %i = phi i64 [%first, %start], [%next, %copy]
  %more = icmp ult i64 %i, %words
  br i1 %more, label %copy, label %end
copy:
  %from = getelementptr i32, ptr %source, i64 %i
  %to = getelementptr i32, ptr %peer, i64 %i
  %value = load i32, ptr %from, align 4
  store i32 %value, ptr %to, align 4
  %next = add i64 %i, 128
  br label %check
end:
  call void @llvm.nvvm.barrier0()
  ret void
}
define void @nvshmemx_signal_op(ptr %signal, i64 %value, i32 %operation, i32 %pe) {
  %peer = call ptr @at_peer(ptr %signal, i32 %pe)
  store atomic i64 %value, ptr %peer release, align 8
  ret void
}
define i64 @nvshmem_signal_wait_until(ptr %signal, i32 %comparison, i64 %value) {
  br label %again
again:
  %now = load atomic i64, ptr %signal acquire, align 8
  %reached = icmp eq i64 %now, %value
  br i1 %reached, label %end, label %again
end:
  ret i64 %now
}
"""


def build(path, text=TEXT):
    """Write the library to `path`."""
    source = path.with_name(path.name + ".ll")
    source.write_text(text)
    for assembler in ("llvm-as-22", "llvm-as", "/usr/lib/llvm-22/bin/llvm-as"):
        try:
            subprocess.run([assembler, str(source), "-o", str(path)], check=True)
            return
        except FileNotFoundError:
            continue
    pytest.skip("needs llvm-as")


@core.extern
def my_pe(_semantic=None):
    return core.extern_elementwise(
        "", "", [], {(): ("nvshmem_my_pe", core.dtype("int32"))}, is_pure=True, _semantic=_semantic
    )


@core.extern
def n_pes(_semantic=None):
    return core.extern_elementwise(
        "", "", [], {(): ("nvshmem_n_pes", core.dtype("int32"))}, is_pure=True, _semantic=_semantic
    )


@core.extern
def fence(_semantic=None):
    return core.extern_elementwise(
        "", "", [], {(): ("nvshmem_fence", core.dtype("int32"))}, is_pure=False, _semantic=_semantic
    )


@core.extern
def put_bytes(dest, source, size, pe, _semantic=None):
    return core.extern_elementwise(
        "",
        "",
        [dest, source, size, pe],
        {
            (
                core.dtype("int64"),
                core.dtype("int64"),
                core.dtype("int64"),
                core.dtype("int32"),
            ): ("nvshmemx_putmem_block", core.dtype("int32"))
        },
        is_pure=False,
        _semantic=_semantic,
    )


@core.extern
def set_signal(signal, value, operation, pe, _semantic=None):
    return core.extern_elementwise(
        "",
        "",
        [signal, value, operation, pe],
        {
            (
                core.dtype("int64"),
                core.dtype("int64"),
                core.dtype("int32"),
                core.dtype("int32"),
            ): ("nvshmemx_signal_op", core.dtype("int32"))
        },
        is_pure=False,
        _semantic=_semantic,
    )


@core.extern
def wait_for_signal(signal, comparison, value, _semantic=None):
    return core.extern_elementwise(
        "",
        "",
        [signal, comparison, value],
        {
            (
                core.dtype("int64"),
                core.dtype("int32"),
                core.dtype("uint64"),
            ): ("nvshmem_signal_wait_until", core.dtype("int32"))
        },
        is_pure=False,
        _semantic=_semantic,
    )


@triton.jit
def put(dest, source, count, pe):
    """Copy `count` elements to memory of rank `pe`; all threads of the program take part."""
    size = count * dest.type.element_ty.itemsize
    return put_bytes(dest.to(tl.int64), source.to(tl.int64), size.to(tl.int64), pe)


class LaunchedWith(KernelInterface):
    """A kernel whose launches name libraries: what `requires_nvshmem` of torch makes of it."""

    def __init__(self, kernel, libraries):
        self.kernel, self.libraries = kernel, libraries

    def run(self, *args, **kwargs):
        return self.kernel.run(*args, **kwargs, extern_libs=self.libraries)


def compiled_kernel_of(told):
    """The kernel of a hook's arguments, found as torch's hook does."""
    kernels = told["fn"].jit_function.device_caches[told["compile"]["device"]][0]
    kernel = kernels.get(told["key"], None)
    assert kernel is not None
    kernel.run  # noqa: B018 (Triton loads the code there)
    return kernel
