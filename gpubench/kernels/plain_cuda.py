"""Plain CUDA C++ made ready for the host simulator, line for line: shared memory is declared as the simulator does.

Everything else that CUDA adds to C++ is a name, which `target/host/cuda/names.hpp` defines. What the simulator has no
counterpart for is refused, by its word and line, before a compiler sees it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from gpubench.errors import UnsupportedError
from gpubench.kernels.lexer import Token, line_of, tokens

_REFUSED = {
    **dict.fromkeys(("asm", "__asm__", "__asm"), "inline assembly"),
    **dict.fromkeys(("cooperative_groups", "this_grid", "this_thread_block", "tiled_partition"), "cooperative groups"),
    **dict.fromkeys(("nvcuda", "wmma"), "tensor cores"),
    **dict.fromkeys(("cub", "thrust"), "a library of CUDA C++"),
    **dict.fromkeys(("CUtensorMap", "CUtensorMap_st"), "the tensor memory accelerator"),
    **dict.fromkeys(("__cluster_dims__",), "thread block clusters"),
    **dict.fromkeys(("__activemask",), "a mask that depends on scheduling"),
    **dict.fromkeys(("__pipeline_memcpy_async", "__mbarrier_init"), "asynchronous copies"),
    **dict.fromkeys(("cudaLaunchKernel", "cudaMalloc", "cudaMemcpy"), "calls of the CUDA runtime"),
    **dict.fromkeys(("__nv_fp8_e4m3", "__nv_fp8_e5m2"), "8-bit floats"),
}
_REFUSED_PATTERN = re.compile(r"tex[123]D\w*|surf[123]D\w*|cudaTextureObject_t|__shfl(?:_up|_down|_xor)?|__v\w+[24]")
_REFUSED_HEADERS = re.compile(
    r"(?:cooperative_groups|mma|cuda_pipeline|cuda_awbarrier|cuda_fp[468])\b.*|(?:cub|thrust|cuda|cutlass|cute)/.*"
)


@dataclass(frozen=True, slots=True)
class _Declarator:
    """One name of a declaration with its dims, as text: `[32]`, `[N][33]`, empty, or `[]` of dynamic memory."""

    name: str
    dims: str


def for_host(name: str, text: str, present: Collection[str] = ()) -> str:
    """Return a source or header that the simulator takes, with the same lines. UnsupportedError with word and line.

    present: the files beside it. Includes of others become comments: the simulator has what stands in for them.
    """
    found = list(tokens(text))
    refuse(name, text, found)
    return "".join(_rewritten(name, text, found, present))


def refuse(name: str, text: str, found: Sequence[Token]) -> None:
    """Refuse what the simulator cannot run. UnsupportedError names the first word, its line and what to do."""
    code = [token for token in found if token.kind in ("word", "sign", "number")]
    for at, token in enumerate(code):
        word = token.text
        what = _REFUSED.get(word)
        if token.kind == "word" and what is None and _REFUSED_PATTERN.fullmatch(word):
            what = "a function that the simulator does not have"
        if word == "cuda" and "".join(near.text for near in code[at + 1 : at + 3]) == "::":
            what = "a library of CUDA C++"
        if word == "<" and "".join(near.text for near in code[at : at + 3]) == "<<<":
            word, what = "<<<", "a launch from within code; the suite's grid and block launch"
        if what is not None:
            _refuse(name, line_of(text, token.start), word, what)
    for match in re.finditer(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", text, re.MULTILINE):
        if _REFUSED_HEADERS.fullmatch(match[1]):
            _refuse(name, line_of(text, match.start()), match[1], "a header that the simulator does not have")


def _refuse(name: str, line: int, word: str, what: str) -> None:
    raise UnsupportedError(f"{name}:{line}: {word} ({what}) does not run on the host device; --device cuda:0 runs it")


def _rewritten(name: str, text: str, found: list[Token], present: Collection[str]) -> Iterator[str]:
    at = 0
    braces: list[bool] = []
    while at < len(found):
        token = found[at]
        start = _declaration(found, at)
        if start is None:
            if token.kind == "sign" and token.text == "{":
                braces.append(_is_namespace(found, at))
            elif token.kind == "sign" and token.text == "}" and braces:
                braces.pop()
            yield _without_system_include(name, token, found, at, present)
            at += 1
            continue
        end = next((n for n in range(start, len(found)) if found[n].text == ";" and found[n].kind == "sign"), None)
        if end is None:
            _refuse(name, line_of(text, token.start), "__shared__", "a declaration without its semicolon")
        assert end is not None
        piece = found[at : end + 1]
        yield _shared(name, line_of(text, token.start), piece, is_global=all(braces))
        yield "\n" * sum(part.text.count("\n") for part in piece)
        at = end + 1


def _is_namespace(found: list[Token], at: int) -> bool:
    """Tell whether a brace opens a namespace or `extern "C"`, whose insides still are outside of any function."""
    before = "".join(token.text for token in found[max(at - 8, 0) : at])
    return re.search(r"(?:\bnamespace\b[^;{}()]*|\bextern\s*\"C\"\s*)$", before) is not None


_SPECIFIERS = ("extern", "static", "volatile", "const", "alignas", "__align__")


def _declaration(found: list[Token], at: int) -> int | None:
    """Return where `__shared__` stands when a declaration with it begins here, None otherwise."""
    if found[at].kind != "word" or found[at].text not in (*_SPECIFIERS, "__shared__"):
        return None
    depth = 0
    for n in range(at, min(at + 40, len(found))):
        token = found[n]
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "__shared__":
            return n
        if depth == 0 and token.kind not in ("space", "comment") and token.text not in (*_SPECIFIERS, "(", ")"):
            return None
    return None


def _without_system_include(name: str, token: Token, found: list[Token], at: int, present: Collection[str]) -> str:
    """Return a token's text; the `#` of an include of no file beside the source begins a comment."""
    if token.text != "#" or token.kind != "sign":
        return token.text
    match = re.match(r"[ \t]*include[ \t]*(?:<|\"([^\"]*)\")", "".join(near.text for near in found[at + 1 : at + 6]))
    if match is None:
        return token.text
    beside = str(PurePosixPath(name).parent / match[1]) if match[1] else ""
    return token.text if {beside, match[1]} & {*present} else "//#"


def _shared(name: str, line: int, piece: list[Token], is_global: bool) -> str:
    """Return the simulator's declaration for `[extern] __shared__ T name[N], other[M];`, on one line."""
    words = [" " if token.kind in ("space", "comment") else token.text for token in piece[:-1]]
    text = re.sub(r"\s+", " ", "".join(words)).strip()
    is_dynamic = re.match(r"(?:\w+ )*extern\b", text) is not None
    text = re.sub(r"(?:__align__|alignas) ?\([^()]*(?:\([^()]*\)[^()]*)*\)", " ", text)
    text = re.sub(r"\b(?:extern|static|volatile|__shared__)\b", " ", text)
    kind, declarators = _cut(re.sub(r"\s+", " ", text).strip())
    if (
        not kind
        or not declarators
        or any("*" in declarator.name or "=" in declarator.dims for declarator in declarators)
    ):
        _refuse(name, line, "__shared__", "a declaration of this form: write `__shared__ T name[N];`")
    is_dynamic = is_dynamic or any(declarator.dims.replace(" ", "") == "[]" for declarator in declarators)
    return "".join(_declared(kind, declarator, is_dynamic, is_global) for declarator in declarators)


def _declared(kind: str, one: _Declarator, is_dynamic: bool, is_global: bool) -> str:
    if is_dynamic and is_global:
        return f"static const ::gpubench::cuda_names::DynamicShared<{kind}> {one.name};"
    if is_dynamic:
        return f"{kind}* const {one.name} = reinterpret_cast<{kind}*>(::gpubench::dynamic_shared());"
    alias = f"gpubench_{one.name}_t"
    return (
        f"using {alias} = {kind}{one.dims}; {alias}& {one.name} = *static_cast<{alias}*>("
        "::gpubench::host::shared_array([] { static char key; return static_cast<const void*>(&key); }(), "
        f"sizeof({alias}), alignof({alias}), ::gpubench::host::Where{{__FILE__, __LINE__}}));"
    )


_OPENING, _CLOSING = "<([{", ">)]}"


def _cut(text: str) -> tuple[str, list[_Declarator]]:
    """Cut a declaration into its type and its declarators."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in _OPENING) - (char in _CLOSING)
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    first = re.fullmatch(r"(.*?[\s>&*])([A-Za-z_]\w*)\s*((?:\[.*\])?)", parts[0].strip())
    if first is None:
        return "", []
    found = [_Declarator(first[2], first[3].strip())]
    for part in parts[1:]:
        other = re.fullmatch(r"([A-Za-z_]\w*)\s*((?:\[.*\])?)", part.strip())
        if other is None:
            return "", []
        found.append(_Declarator(other[1], other[2].strip()))
    return first[1].strip(), found
