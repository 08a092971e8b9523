"""The names of the other libraries that can be set beside our kernels: name -> module:class of the peer.

Data alone, so that a suite can be checked against it without any of them; `gpubench.peers` has the code.
"""

from __future__ import annotations

PEERS: dict[str, str] = {
    "cupy": "gpubench.peers.cupy:CupyPeer",
    "torch": "gpubench.peers.torch:TorchPeer",
    "inductor": "gpubench.peers.inductor:InductorPeer",
    "cub": "gpubench.peers.cub:CubPeer",
    "jax": "gpubench.peers.jax:JaxPeer",
}
