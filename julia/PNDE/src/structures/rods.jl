"""
    RodsJacobian(a, b, c, d)

G = [2D_a 2D_b 0 0; D_c D_d D_a D_b], D_x = diag(x) D, of a chain with the links (a, b) and their rates (c, d), all
`(N, B)`; D takes the difference to the link before (paper, Appendix I).

Each row of G meets only those of the neighbouring links, so the Gram matrix is block tridiagonal, with 2 × 2 blocks when
the two rows of a link are put together, and is factored in O(N).
"""
struct RodsJacobian{M <: AbstractMatrix} <: AbstractJacobian
    a::M
    b::M
    c::M
    d::M
end

no_velocity(G::RodsJacobian, b) = zeros_like(b, 4 * size(G.a, 1), size(b, 2))

function apply(G::RodsJacobian, w::AbstractMatrix)
    x, y, vx, vy = map(difference, quarters(w))
    (; a, b, c, d) = G
    return vcat(2 .* (a .* x .+ b .* y), c .* x .+ d .* y .+ a .* vx .+ b .* vy)
end

function transpose_apply(G::RodsJacobian, z::AbstractMatrix)
    position, velocity = halves(z)
    (; a, b, c, d) = G
    return vcat(
        difference_transposed(2 .* a .* position .+ c .* velocity),
        difference_transposed(2 .* b .* position .+ d .* velocity),
        difference_transposed(a .* velocity),
        difference_transposed(b .* velocity),
    )
end

function dense(G::RodsJacobian)
    N, B = size(G.a)
    D = cast([(i == j) - (i == j + 1) for i in 1:N, j in 1:N], G.a)
    A, B_, C, D_ = map(x -> reshape(x, N, 1, B) .* D, (G.a, G.b, G.c, G.d))
    O = zero(A)
    return vcat(hcat(2 .* A, 2 .* B_, O, O), hcat(C, D_, A, B_))
end

function cotangent(G::RodsJacobian, y, w, z, x)
    parts = map(rods_cotangent(y, w), rods_cotangent(z, x)) do first, second
        -(first .+ second)
    end
    return Tangent{typeof(G)}(; a = parts[1], b = parts[2], c = parts[3], d = parts[4])
end

"The derivatives of yᵀG w with respect to a, b, c and d."
function rods_cotangent(y, w)
    position, velocity = halves(y)
    x, y, vx, vy = map(difference, quarters(w))
    return 2 .* position .* x .+ velocity .* vx, 2 .* position .* y .+ velocity .* vy, velocity .* x, velocity .* y
end

tangent_operator(G::RodsJacobian, Ġ) = RodsJacobian(map(
    (part, change) -> change isa AbstractZero ? zero(part) : unthunk(change),
    (G.a, G.b, G.c, G.d), (Ġ.a, Ġ.b, Ġ.c, Ġ.d),
)...)

"""
The Cholesky factor of the block tridiagonal Gram matrix. Link i has the block [p 0; q r] on the diagonal and the block
[e f; g h] to the left of it, all `(N, B)`. `position` and `velocity` are the squared lengths of its two rows.
"""
struct RodsFactor{M}
    p::M
    q::M
    r::M
    e::M
    f::M
    g::M
    h::M
    position::M
    velocity::M
end

function factorise(::CholeskyProjection, G::RodsJacobian, ::Nothing)
    (; a, b, c, d) = G
    N = size(a, 1)
    # The first link hangs on a bob that does not move.
    bobs = cast([i == 1 ? 1 : 2 for i in 1:N, _ in 1:1], a)
    dots = (a .^ 2 .+ b .^ 2, a .* c .+ b .* d, c .^ 2 .+ d .^ 2)
    position, mixed, velocity = bobs .* 4 .* dots[1], bobs .* 2 .* dots[2], bobs .* (dots[1] .+ dots[3])
    p, q, r = copy(position), copy(mixed), copy(velocity)
    e, f, g, h = ntuple(_ -> zero(a), 4)
    @views for i in 1:N
        if i > 1
            # The blocks E of this link with the one before, times the inverse of that one's factor, transposed.
            before(x) = x[i - 1, :]
            here(x) = x[i, :]
            along = here(a) .* before(a) .+ here(b) .* before(b)
            here(e) .= .-4 .* along ./ before(p)
            here(f) .= (.-2 .* (here(a) .* before(c) .+ here(b) .* before(d)) .- here(e) .* before(q)) ./ before(r)
            here(g) .= .-2 .* (here(c) .* before(a) .+ here(d) .* before(b)) ./ before(p)
            here(h) .= (.-(here(c) .* before(c) .+ here(d) .* before(d) .+ along) .- here(g) .* before(q)) ./ before(r)
            here(p) .-= here(e) .^ 2 .+ here(f) .^ 2
            here(q) .-= here(e) .* here(g) .+ here(f) .* here(h)
            here(r) .-= here(g) .^ 2 .+ here(h) .^ 2
        end
        p[i, :] .= positive_root.(p[i, :])
        q[i, :] ./= p[i, :]
        r[i, :] .= positive_root.(r[i, :] .- q[i, :] .^ 2)
    end
    return RodsFactor(p, q, r, e, f, g, h, position, velocity)
end

function solve!(factor::RodsFactor, x)
    (; p, q, r, e, f, g, h) = factor
    N = size(p, 1)
    position, velocity = view(x, 1:N, :), view(x, (N + 1):(2N), :)
    @views for i in 1:N
        if i > 1
            position[i, :] .-= e[i, :] .* position[i - 1, :] .+ f[i, :] .* velocity[i - 1, :]
            velocity[i, :] .-= g[i, :] .* position[i - 1, :] .+ h[i, :] .* velocity[i - 1, :]
        end
        position[i, :] ./= p[i, :]
        velocity[i, :] .= (velocity[i, :] .- q[i, :] .* position[i, :]) ./ r[i, :]
    end
    @views for i in N:-1:1
        if i < N
            position[i, :] .-= e[i + 1, :] .* position[i + 1, :] .+ g[i + 1, :] .* velocity[i + 1, :]
            velocity[i, :] .-= f[i + 1, :] .* position[i + 1, :] .+ h[i + 1, :] .* velocity[i + 1, :]
        end
        velocity[i, :] ./= r[i, :]
        position[i, :] .= (position[i, :] .- q[i, :] .* velocity[i, :]) ./ p[i, :]
    end
    return x
end

# The pivots of the row-scaled Gram matrix.
function reciprocal_condition(factor::RodsFactor)
    return ratio(vcat(factor.p .^ 2 ./ factor.position, factor.r .^ 2 ./ factor.velocity))
end

"The links and their rates, of states u `(4N, B)`: four arrays `(N, B)`."
links(u) = map(difference, quarters(u))

# Zygote would add up the cotangents of a dozen slices.
function ChainRulesCore.rrule(::typeof(links), u)
    back(part::AbstractZero) = zeros_like(u, size(u, 1) ÷ 4, size(u, 2))
    back(part) = difference_transposed(unthunk(part))
    function links_pullback(cotangent)
        parts = unthunk(cotangent)
        parts isa AbstractZero && return NoTangent(), ZeroTangent()
        return NoTangent(), vcat(map(back, Tuple(parts))...)
    end
    return links(u), links_pullback
end

difference(x) = vcat(x[1:1, :], x[2:end, :] .- x[1:(end - 1), :])
difference_transposed(x) = vcat(x[1:(end - 1), :] .- x[2:end, :], x[end:end, :])

halves(x) = (n = size(x, 1) ÷ 2; (x[1:n, :], x[(n + 1):end, :]))
quarters(x) = (n = size(x, 1) ÷ 4; ntuple(i -> x[((i - 1) * n + 1):(i * n), :], 4))
