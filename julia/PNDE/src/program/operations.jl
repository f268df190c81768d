# The operations of a program, on batches of flat arrays `(size, B)`; B is 1 for what all states share. Arrays of more
# dimensions lie in them row by row, so their last dimension is the fastest.

# Outside of their domains Julia's own throw where a solver, which probes such states, wants NaN. These run on a GPU too.
or_nan(f, inside) = x -> inside(x) ? f(x) : oftype(float(x), NaN)
power_or_nan(x, y) = x >= 0 || isinteger(y) ? x^y : oftype(float(x) * one(y), NaN)

truth(x::Bool) = x
truth(x) = !iszero(x)

number(x::Bool) = Float64(x)
number(x) = x

const ELEMENTWISE = Dict{String, Any}(
    "sin" => or_nan(sin, isfinite), "cos" => or_nan(cos, isfinite), "tan" => or_nan(tan, isfinite),
    "asin" => or_nan(asin, x -> abs(x) <= 1), "acos" => or_nan(acos, x -> abs(x) <= 1), "atan" => atan,
    "sinh" => sinh, "cosh" => cosh, "tanh" => tanh, "asinh" => asinh, "acosh" => or_nan(acosh, x -> x >= 1),
    "atanh" => or_nan(atanh, x -> abs(x) <= 1), "exp" => exp, "exp2" => exp2, "expm1" => expm1,
    "log" => or_nan(log, x -> x >= 0), "log1p" => or_nan(log1p, x -> x >= -1), "sqrt" => or_nan(sqrt, x -> x >= 0),
    "cbrt" => cbrt, "rsqrt" => or_nan(x -> 1 / sqrt(x), x -> x >= 0), "logistic" => sigmoid,
    "abs" => abs, "sign" => sign, "floor" => floor, "ceil" => ceil, "round" => round, "trunc" => trunc,
    "isfinite" => isfinite, "add" => +, "subtract" => -, "multiply" => *, "divide" => /, "negative" => -,
    "power" => power_or_nan, "remainder" => rem, "maximum" => max, "minimum" => min, "atan2" => atan,
    "less" => <, "less_equal" => <=, "greater" => >, "greater_equal" => >=, "equal" => ==, "not_equal" => !=,
    "number" => number, "not" => x -> !truth(x), "and" => (x, y) -> truth(x) & truth(y), "or" => (x, y) -> truth(x) | truth(y),
    # Of one type, whichever is chosen: a dual number and a plain one would leave an array of both.
    "select" => (condition, x, y) -> ifelse(truth(condition), promote(x, y)...),
)

"""
    operation_named(name, integers)

What a step of that name and those integers does: a function of its operands.

# Throws

  - `ArgumentError` if there is no such operation.
"""
function operation_named(name, integers)
    haskey(ELEMENTWISE, name) && return Elementwise(ELEMENTWISE[name])
    name == "take" && return Take(integers .+ 1)
    name == "spread" && return Spread(integers[1:(end - 1)] .+ 1, integers[end])
    name == "dot" && return Dot(integers...)
    name == "solve" && return Solve(integers...)
    name == "cholesky" && return LowerFactor(only(integers))
    haskey(ALONG, name) && return Along(ALONG[name], only(integers))
    throw(ArgumentError("there is no operation $name in a program"))
end

struct Elementwise{F}
    f::F
end
(op::Elementwise)(xs...) = op.f.(xs...)

"The numbers at positions in the operands, one behind the other."
struct Take
    positions::Union{UnitRange{Int}, Vector{Int}}

    function Take(positions)
        whole = isempty(positions) ? (1:0) : (first(positions):last(positions))
        return new(positions == whole ? whole : Vector{Int}(positions))
    end
end
(op::Take)(x) = x[op.positions, :]
(op::Take)(xs...) = joined(xs...)[op.positions, :]

function joined(xs...)
    B = maximum(x -> size(x, 2), xs)
    return reduce(vcat, map(x -> of_batch(x, B), xs))
end
of_batch(x, B) = size(x, 2) == B ? x : repeat(x, 1, B)

"The transpose of `Take`: each number is added at its position."
struct Spread
    positions::Vector{Int}
    size::Int
end
function (op::Spread)(x)
    out = zeros_like(x, op.size, size(x, 2))
    for (k, position) in enumerate(op.positions)
        out[position:position, :] .+= @view x[k:k, :]
    end
    return out
end

first_index(index) = Float64(index[1] - 1)

"f of an array on the host, for what not every card's arrays have."
along_on_host(f) = x -> placed_like(x, f(on_host(x)))
placed_like(::Array, y) = y
placed_like(x, y) = copyto!(similar(x, eltype(y), size(y)), y)

# Functions of runs of numbers, which lie along the first dimension.
const ALONG = Dict{String, Any}(
    "sum" => x -> sum(x; dims = 1), "product" => x -> prod(x; dims = 1), "largest" => x -> maximum(x; dims = 1),
    "smallest" => x -> minimum(x; dims = 1), "all" => x -> all(truth, x; dims = 1), "any" => x -> any(truth, x; dims = 1),
    "argmax" => along_on_host(x -> first_index.(argmax(x; dims = 1))),
    "argmin" => along_on_host(x -> first_index.(argmin(x; dims = 1))),
    "sort" => along_on_host(x -> sort(x; dims = 1)), "cumsum" => along_on_host(x -> cumsum(x; dims = 1)),
    "cumprod" => along_on_host(x -> cumprod(x; dims = 1)),
)

struct Along{F}
    f::F
    length::Int
end
(op::Along)(x) = reshape(op.f(reshape(x, op.length, size(x, 1) ÷ op.length, :)), :, size(x, 2))

"Σ_k x[b, i, k] y[b, j, k]"
struct Dot
    b::Int
    i::Int
    j::Int
    k::Int
end
function (op::Dot)(x, y)
    (; b, i, j, k) = op
    if i == j == 1
        return reshape(sum(reshape(x .* y, k, b, :); dims = 1), b, :)
    elseif b == 1 && size(y, 2) == 1
        # One matrix for all states, one product.
        return reshape(transpose(reshape(y, k, j)) * reshape(x, k, :), i * j, :)
    elseif b == 1 && size(x, 2) == 1
        product = transpose(reshape(x, k, i)) * reshape(y, k, :)
        return reshape(permutedims(reshape(product, i, j, :), (2, 1, 3)), i * j, :)
    end
    B = max(size(x, 2), size(y, 2))
    X, Y = reshape(of_batch(x, B), k, i, :), reshape(of_batch(y, B), k, j, :)
    return reshape(batched_mul(batched_transpose(Y), X), b * i * j, B)
end

"X of A X = B, A `(n, n)` and B `(n, k)`; NaN where A is singular."
struct Solve
    n::Int
    k::Int
end
function (op::Solve)(matrix, right)
    (; n, k) = op
    B = max(size(matrix, 2), size(right, 2))
    A, b = Array(of_batch(matrix, B)), Array(of_batch(right, B))
    out = similar(b, promote_type(eltype(A), eltype(b)))
    for state in axes(b, 2)
        factor = lu(permutedims(reshape(A[:, state], n, n)); check = false)
        known = issuccess(factor)
        out[:, state] .= known ? vec(permutedims(factor \ permutedims(reshape(b[:, state], k, n)))) : eltype(out)(NaN)
    end
    return copyto!(similar(right, eltype(out), size(out)), out)
end

"The lower Cholesky factor of A `(n, n)`."
struct LowerFactor
    n::Int
end
function (op::LowerFactor)(matrix)
    L = cholesky_batched!(reshape(copy(matrix), op.n, op.n, :))
    return reshape(permutedims(L, (2, 1, 3)), op.n^2, :)
end
