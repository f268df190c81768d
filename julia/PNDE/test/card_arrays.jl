# JLArrays as a card: arrays that no loop may touch number by number, so what runs on them runs on a GPU.
using JLArrays, PNDE

JLArrays.allowscalar(false)
PNDE.CARD[] = JLArray

# GPU libraries have a product of whole batches, which JLArrays has not: the host's stands for it.
let NNlib = parentmodule(PNDE.batched_mul), host = (A::JLArray -> Array(A))
    on_host(A) = A isa JLArray ? Array(A) : Array(PNDE.batched_transpose(Array(parent(A))))
    @eval NNlib function _batched_gemm!(::Type{<:$JLArray}, transA::Char, transB::Char, α::Number, A, B, β::Number, C)
        return copyto!(C, _batched_gemm!(Array, transA, transB, α, $on_host(A), $on_host(B), β, Array(C)))
    end
end
