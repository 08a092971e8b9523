"""The names of the other libraries that can be set beside our kernels: name -> module:class of the peer.

Data alone, so that a suite can be checked against it without any of them; `gpubench.peers` has the code.
"""

from __future__ import annotations

from gpubench import names

PEERS: dict[str, str] = {
    names.CUPY: "gpubench.peers.cupy:CupyPeer",
    names.TORCH: "gpubench.peers.torch:TorchPeer",
    names.INDUCTOR: "gpubench.peers.inductor:InductorPeer",
    names.CUB: "gpubench.peers.cub:CubPeer",
    names.JAX: "gpubench.peers.jax:JaxPeer",
}

CUPY = ("cupy-cuda13x", "cupy-cuda12x", "cupy")
NVRTC = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")

PACKAGES: dict[str, tuple[tuple[str, ...], ...]] = {
    names.NUMPY: (("numpy",),),
    names.CUPY: (CUPY, NVRTC),
    names.TORCH: (("torch",),),
    names.INDUCTOR: (("torch",), ("triton",)),
    names.CUB: (("cuda-cccl",), CUPY, NVRTC),
    names.JAX: (
        ("jax",),
        ("jaxlib",),
        ("jax-cuda13-plugin", "jax-cuda12-plugin"),
        ("jax-cuda13-pjrt", "jax-cuda12-pjrt"),
    ),
}
"""The packages whose versions decide what a library's times are: the first of each group that is installed counts."""
