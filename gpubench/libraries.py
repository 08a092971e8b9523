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
