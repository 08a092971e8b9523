// What the kernels of `few` take, and the walk along an output's terms.
#pragma once

#include "reduce_sum/terms.cuh"

namespace gpubench::sum {

// C: Sum, or Plain where all offsets fit 32 bits.
template <class C>
struct FewShape {
    using Step = conditional_t<is_same<C, Plain>, int32, int64>;
    int32 terms, inner;
    uint32 groups;
    int32 line;               // few_across: outputs of a line
    Step step, other_step;    // elements between terms, and between rounds of `inner` terms
    Step reach;               // few_across: elements from an output's first term to its last
    C sum;                    // of groups of W outputs
};
GPUBENCH_LAYOUT(FewShape<gpubench::sum::Sum>, 152, sum, 40);
GPUBENCH_LAYOUT(FewShape<gpubench::sum::Plain>, 80, sum, 28);

// The place of a term after the other, from the first one's.
template <class C>
struct TermWalk {
    typename FewShape<C>::Step offset = 0;
    int32 inner = 0;

    GPUBENCH_DEVICE typename FewShape<C>::Step next(const FewShape<C>& shape) {
        const auto here = offset;
        offset += shape.step;
        inner += 1;
        if (inner == shape.inner) {
            inner = 0;
            offset += shape.other_step - shape.inner * shape.step;
        }
        return here;
    }
};

// Of little: where an output's terms lie from its first one on, so that no load waits for a walk along them.
template <int Terms>
struct NearShape {
    uint32 groups;
    int32 terms;
    uint32 steps[Terms];
    Plain sum;
};
GPUBENCH_LAYOUT(NearShape<1>, 64, sum, 12);
GPUBENCH_LAYOUT(NearShape<2>, 68, sum, 16);
GPUBENCH_LAYOUT(NearShape<4>, 76, sum, 24);
GPUBENCH_LAYOUT(NearShape<8>, 92, sum, 40);
GPUBENCH_LAYOUT(NearShape<16>, 124, sum, 72);

// Of little: the threads of a block are `outputs` x lanes, and a lane takes every lanes-th term of its output.
struct SharedShape {
    int32 terms;
    int32 output_bits;           // outputs of a block: a power of two up to a warp
    IntegerDivider inner;        // terms of a round
    uint32 step, other_step;     // elements between terms, and between rounds
    int32 turn_inner, moved, carried;  // of a lane's next term: its number in the round; elements; and to the next round
    uint32 groups;
    Plain sum;
};
GPUBENCH_LAYOUT(SharedShape, 96, sum, 44);

// Rows side by side, as their sums are.
struct WordsShape {
    uint32 rows;
    int32 terms;
};
GPUBENCH_LAYOUT(WordsShape, 8, terms, 4);

// Outputs whose neighbours lie apart in x: a block's tile of 32 x 32 is read along the first kept dim and written along the second.
struct TransposedShape {
    FewShape<Plain> few;
    IntegerDivider tiles, other_tiles;  // along the first kept dim, and the second
};
GPUBENCH_LAYOUT(TransposedShape, 104, other_tiles, 92);

}  // namespace gpubench::sum
