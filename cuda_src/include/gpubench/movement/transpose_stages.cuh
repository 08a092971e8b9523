// Transposed through shared memory as the lines lie: whole aligned units of 16 bytes come in the background, at any alignment of
// the lines, and elements are taken out of them one by one.
//
// Data: of each of `Lines` neighbouring lines the units that hold `Rows` elements come to shared memory as they lie, neighbouring
// threads bringing neighbouring units. A thread that wants `V` elements of a row takes one out of each of V neighbouring
// lines; of further rows, from the same places so many elements later. Lines are kept V apart, an odd number of units each,
// so that eight threads that take neighbouring vectors of a row, and four that take neighbouring rows, meet all banks once. Where a line's
// elements begin stands in a table behind the lines: who brings a line has its address at hand, and who takes elements out of it would have
// to work that out again.
#pragma once

#include "gpubench/items.cuh"
#include "gpubench/movement/coming.cuh"
#include "gpubench/movement/stages.cuh"

namespace gpubench {

// Until what all threads of the block have brought is there.
GPUBENCH_DEVICE void await_staged() {
    close_copies();
    await_copies<0>();
    block_barrier();
}

// The numbers of a tile of T; Rows and V are powers of two, Lines is a multiple of V.
template <class T, int Lines, int V, int Rows, int Threads>
struct StagedLines {
    static constexpr int size = static_cast<int>(sizeof(T));
    static constexpr int W = 16 / size;                       // elements of a unit
    static constexpr int units = Rows > W ? Rows / W : 1;     // of a line that begins on one; else it has one more
    static constexpr int pitch = (units + 1) | 1;             // units
    static constexpr int step = Threads / units;              // lines that the block brings at once
    static constexpr int turns = (Lines + step - 1) / step, last_turns = (Lines + Threads - 1) / Threads;
    static constexpr bool skewed = V >= 8;  // the table: eight threads whose lines are V apart meet as many banks
    static constexpr int table = Lines * pitch * 16, entries = Lines + (skewed ? Lines / V : 0);
    static constexpr int bytes = table + (entries + 3) / 4 * 16;
    // A line's first and last sectors are half of other tiles', which find them in the L1 cache; of bytes pieces are long, and pass it by.
    static constexpr Beside beside = size > 1 ? Beside::in_l1 : Beside::rest_of_line;
    static_assert(Lines % V == 0 && Threads % units == 0);

    // Where a line begins, in bytes.
    static GPUBENCH_DEVICE int place(uint32 line) { return (line % V * (Lines / V) + line / V) * (pitch * 16); }

    // Where the table has a line.
    static GPUBENCH_DEVICE int entry(uint32 line) { return table + (line + (skewed ? line / V : 0)) * 4; }

    // Where the elements of V neighbouring lines begin, in bytes behind the stage's beginning. Whole: `line` is a multiple of V.
    template <bool Whole>
    static GPUBENCH_DEVICE Vector<int, V> begins(const char* stage, uint32 line) {
        constexpr int N = !Whole || skewed ? 1 : V;  // of a load
        Vector<int, V> found;
        GPUBENCH_UNROLL
        for (int k = 0; k < V; k += N) {
            const auto some = bit_cast<Vector<int, N>>(load_packed<N>(reinterpret_cast<const int*>(stage + entry(line + k))));
            GPUBENCH_UNROLL
            for (int j = 0; j < N; ++j) found[k + j] = some[j];
        }
        return found;
    }

    // Bring the tile. line_of(l): the address of the tile's first element of line l; has_line(l): whether there is one. The operand lies
    // between `begin` and `end`; `rows` of its elements are wanted of each line. All: every line and row exists, and the units
    // beside them lie in the operand, so that nothing is checked.
    template <bool All, class LineOf, class HasLine>
    static GPUBENCH_DEVICE void bring(char* stage, const LineOf& line_of, const HasLine& has_line, int rows, const T* begin, const T* end) {
        const uint32 tid = thread_index_x();
        GPUBENCH_UNROLL
        for (int n = 0; n < turns; ++n) {
            const int line = n * step + tid / units;
            if (Lines % step != 0 && line >= Lines) continue;
            if (All || has_line(line)) bring_unit<All>(stage + place(line), tid % units, line_of(line), rows, begin, end);
        }
        GPUBENCH_UNROLL
        for (int n = 0; n < last_turns; ++n) {
            const int line = n * Threads + tid;
            if (Lines % Threads != 0 && line >= Lines) continue;
            const T* const address = line_of(line);
            *reinterpret_cast<int*>(stage + entry(line)) = place(line) + static_cast<int>(reinterpret_cast<uint64>(address) & 15);
            if (All || has_line(line)) bring_unit<All>(stage + place(line), units, address, rows, begin, end);
        }
    }
    template <bool All>
    static GPUBENCH_DEVICE void bring_unit(char* line, int unit, const T* address, int rows, const T* begin, const T* end) {
        char* const target = line + unit * 16;
        const auto* const word = reinterpret_cast<const Word128*>(reinterpret_cast<uint64>(address) & ~uint64{15}) + unit;
        const T* const source = reinterpret_cast<const T*>(word);
        if (!All && source >= address + rows) return;
        if (All || (source >= begin && source + W <= end)) {
            copy_in_background<beside>(reinterpret_cast<Word128*>(target), word);
        } else {
            GPUBENCH_NO_UNROLL
            for (int j = 0; j < W; ++j) {  // at an end of the operand
                if (source + j >= begin && source + j < end) reinterpret_cast<T*>(target)[j] = source[j];
            }
        }
    }
};

}  // namespace gpubench
