"""
    Linear(A)

Linear laws h(u) = A u, A `(m, n)`. All states share the Jacobian, so it is factored once for a batch.
"""
struct Linear{M <: AbstractMatrix} <: AbstractConstraint
    matrix::M
end

value(law::Linear, u, at) = cast(law.matrix, u) * u
constraint_jacobian(law::Linear, u, at) = ignore_derivatives(() -> reshape(cast(law.matrix, u), size(law.matrix)..., 1))
