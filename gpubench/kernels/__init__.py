"""From a source in cuda_src to machine code: source lookup, NVRTC, the on-disk cache, the resource report.

Importing this package is cheap; NVRTC is loaded by the first compilation.
"""

from gpubench.kernels.compiler import CompiledKernel, Request, compile_instance, compile_many
from gpubench.kernels.sources import SourceTree, default_tree

__all__ = ["CompiledKernel", "Request", "SourceTree", "compile_instance", "compile_many", "default_tree"]
