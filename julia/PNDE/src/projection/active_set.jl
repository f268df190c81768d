# Which inequalities act on a velocity: the dual active-set method of Goldfarb and Idnani (1983, A numerically stable dual
# method for solving strictly convex quadratic programs) in the multipliers of the inequalities alone.
#
# With the velocity p₀ that keeps the equalities and y₀ = A p₀, rows lo ≤ A p ≤ hi add multipliers λ, and become
# y = y₀ + K λ with K = A P W Aᵀ. The nearest velocity has λᵢ > 0 only where yᵢ = loᵢ, and λᵢ < 0 only where yᵢ = hiᵢ. The
# row that is farthest outside is taken in; a row whose multiplier changes its sign on the way is let go. Each change is one
# principal pivot. It is done state by state, on the host wherever the states are: what it decides is different for each.

"Rows that are outside by so many roundings contradict one another."
const SLACK = 1.0e4

"""
    active_rows(K, y, lo, hi, norms, rounding)

The rows that act, of states with K `(m, m, B)` and y₀ = `y` `(m, B)`.

# Arguments

  - `norms`: the diagonal of A W Aᵀ `(m, B)`, before the equalities are taken out: what is small beside it is rounding.
  - `rounding`: how far a row may be outside, by rounding.

# Returns

Which rows act and which of them are at their upper bound, both `(m, B)`, the inverse of K among those that act, 0 elsewhere,
and of which states `(B,)` all rows can be kept.
"""
function active_rows(K, y, lo, hi, norms, rounding)
    found = active_rows_on_host(map(on_host, (K, y, lo, hi, norms, rounding))...)
    rows, upper, inverse, feasible = found
    return beside(y, rows), beside(y, upper), beside(y, inverse), feasible
end

function active_rows_on_host(K, y, lo, hi, norms, rounding)
    m, B = size(y)
    rows, upper, inverse, feasible = zeros(Bool, m, B), zeros(Bool, m, B), zero(K), fill(true, B)
    @views for b in 1:B
        # Most states of a batch are inside.
        any(i -> max(lo[i, b] - y[i, b], y[i, b] - hi[i, b]) > rounding[i, b], 1:m) || continue
        inverse[:, :, b] .= K[:, :, b]
        exchange = Exchange(inverse[:, :, b], y[:, b], lo[:, b], hi[:, b], norms[:, b])
        feasible[b] = activate!(exchange, rounding[:, b])
        rows[:, b] .= exchange.rows
        upper[:, b] .= exchange.rows .& exchange.above
        inverse[.!exchange.rows, :, b] .= 0
        inverse[:, .!exchange.rows, b] .= 0
    end
    return rows, upper, inverse, feasible
end

"""
The exchange between (y, λ) of one state so far: z = q + M x, where x holds λ of rows that do not act, and y less the bound of
those that do; z the other one of each pair.
"""
struct Exchange{A, V, L}
    M::A
    q::V
    lo::L
    hi::L
    "What a pivot has to be larger than."
    smallest::V
    "1 over the length of each row, so that none counts for more by its unit."
    per_length::V
    rows::Vector{Bool}
    "Which rows act from above."
    above::Vector{Bool}
    given_up::Vector{Bool}
end

function Exchange(M, y, lo, hi, norms)
    m = length(y)
    smallest = 100 * m * eps(eltype(M)) .* norms
    return Exchange(M, collect(y), lo, hi, collect(smallest), inverse_norm.(norms), zeros(Bool, m), zeros(Bool, m), zeros(Bool, m))
end

sign_of(exchange, i) = exchange.above[i] ? -1 : 1
bound(exchange, i) = exchange.above[i] ? exchange.hi[i] : exchange.lo[i]
outside(exchange, i) = max(exchange.lo[i] - exchange.q[i], exchange.q[i] - exchange.hi[i])

"The row that is farthest outside by more than rounding, or 0."
function farthest(exchange, rounding)
    chosen, worst = 0, zero(eltype(exchange.q))
    for i in eachindex(exchange.q)
        (exchange.rows[i] || exchange.given_up[i]) && continue
        distance = (outside(exchange, i) - rounding[i]) * exchange.per_length[i]
        distance > worst && ((chosen, worst) = (i, distance))
    end
    return chosen
end

"Find the rows of one state that act. Returns whether all rows can be kept."
function activate!(exchange, rounding)
    most = steps = 4 * length(exchange.q) + 10
    i = farthest(exchange, rounding)
    while i != 0 && steps > 0
        exchange.above[i] = exchange.q[i] > exchange.hi[i]
        steps = take_in!(exchange, i, steps)
        i = farthest(exchange, rounding)
    end
    return i == 0 && all(k -> exchange.rows[k] || outside(exchange, k) <= SLACK * rounding[k], eachindex(exchange.q))
end

"""
Let the multiplier of row i grow until the row is at its bound, letting go of rows that lose theirs, or give it up where
it depends on rows that act. Returns how many exchanges are left of `steps`.
"""
function take_in!(exchange, i, steps)
    (; M, q, lo, hi, smallest, rows, given_up) = exchange
    t, own = zero(eltype(q)), sign_of(exchange, i)
    while steps > 0
        steps -= 1
        first, leaving = oftype(t, Inf), 0
        for k in eachindex(q)
            towards = sign_of(exchange, k) * M[k, i] * own
            (rows[k] && hi[k] > lo[k] && towards < 0) || continue
            until = t + max(sign_of(exchange, k) * q[k] + towards * t, zero(t)) / -towards
            until < first && ((first, leaving) = (until, k))
        end
        enough = M[i, i] > smallest[i] ? own * (bound(exchange, i) - q[i]) / M[i, i] : oftype(t, Inf)
        if isfinite(enough) && enough <= first
            q[i] -= bound(exchange, i)
            exchange!(M, q, i)
            rows[i] = true
            return steps
        elseif leaving == 0
            given_up[i] = true
            return steps
        end
        exchange!(M, q, leaving)
        q[leaving] += bound(exchange, leaving)
        rows[leaving] = false
        t = first
    end
    return steps
end

"z = q + M x with z_k and x_k exchanged: a principal pivot."
function exchange!(M, q, k)
    inverse = 1 / M[k, k]
    others = filter(!=(k), eachindex(q))
    @inbounds for j in others
        M[k, j] *= -inverse
    end
    q_k = -q[k] * inverse
    @inbounds for j in others
        @simd for i in others
            M[i, j] += M[i, k] * M[k, j]
        end
    end
    @inbounds for i in others
        q[i] += M[i, k] * q_k
        M[i, k] *= inverse
    end
    M[k, k], q[k] = inverse, q_k
    return nothing
end

"""
    inverse_among(K, rows, norms)

The inverse of K `(m, m, B)` among some rows `(m, B)` of each state, and which of these it is of: rows that depend on earlier
ones are left out.
"""
function inverse_among(K, rows, norms)
    taken, inverse = inverse_among_on_host(map(on_host, (K, rows, norms))...)
    return beside(K, taken), beside(K, inverse)
end

function inverse_among_on_host(K, rows, norms)
    m, B = size(norms)
    taken, inverse = zeros(Bool, m, B), copy(K)
    for b in 1:B
        M, nothing_else = view(inverse, :, :, b), zeros(eltype(K), m)
        for k in 1:m
            rows[k, b] && M[k, k] > 100 * m * eps(eltype(K)) * norms[k, b] || continue
            exchange!(M, nothing_else, k)
            taken[k, b] = true
        end
        M[.!taken[:, b], :] .= 0
        M[:, .!taken[:, b]] .= 0
    end
    return taken, inverse
end
