// elementwise, variant `naive`: one thread, one element at a time, in the output's row-major order.
//
// Data: each operand's element goes from global memory to a register, is converted to the type of the work, and the
// result is converted and written. Offsets come from 64-bit divisions by the sizes of the dims, once per operand and
// element, which costs more than the memory access does for small dtypes. The first rung of the ladder: right for every
// arity, broadcast, dtype and layout.
#include "gpubench/functions.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/strided.cuh"

namespace gpubench::elementwise {

// F: a functor of functions.cuh. C: the type the work is done in. Every view has the shape of the output; a broadcast
// operand has strides of 0.
template <class F, class C, class Out, class A>
GPUBENCH_KERNEL void naive1(Out* y, const A* a, Strided y_view, Strided a_view, long long n, double p0, double p1) {
    const C first = convert<C>(p0);
    const C second = convert<C>(p1);
    for (long long i = grid_thread(); i < n; i += grid_threads()) {
        const C result = F{}(convert<C>(a[a_view.offset(i)]), first, second);
        y[y_view.offset(i)] = convert<Out>(result);
    }
}

template <class F, class C, class Out, class A, class B>
GPUBENCH_KERNEL void naive2(Out* y, const A* a, const B* b, Strided y_view, Strided a_view, Strided b_view, long long n,
                            double p0, double p1) {
    const C first = convert<C>(p0);
    const C second = convert<C>(p1);
    for (long long i = grid_thread(); i < n; i += grid_threads()) {
        const C result = F{}(convert<C>(a[a_view.offset(i)]), convert<C>(b[b_view.offset(i)]), first, second);
        y[y_view.offset(i)] = convert<Out>(result);
    }
}

template <class F, class C, class Out, class A, class B, class Cc>
GPUBENCH_KERNEL void naive3(Out* y, const A* a, const B* b, const Cc* c, Strided y_view, Strided a_view, Strided b_view,
                            Strided c_view, long long n, double p0, double p1) {
    const C first = convert<C>(p0);
    const C second = convert<C>(p1);
    for (long long i = grid_thread(); i < n; i += grid_threads()) {
        const C result = F{}(convert<C>(a[a_view.offset(i)]), convert<C>(b[b_view.offset(i)]),
                             convert<C>(c[c_view.offset(i)]), first, second);
        y[y_view.offset(i)] = convert<Out>(result);
    }
}

}  // namespace gpubench::elementwise
