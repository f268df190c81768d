using PNDE, SparseArrays

"What the other engine does with the steps of a `PNDE.program`."
function run_program(steps, u)
    known = copy(u)
    operations = (;
        divide = /, multiply = *, power = ^, select = ifelse, less = <, less_equal = <=, equal = ==, minimum = min, maximum = max,
        atan2 = atan, (name => getfield(Base, name) for name in PNDE.FUNCTIONS)...,
    )
    for (; operation, parameter, operands) in steps
        values = map(operands) do (; rows, columns, values, constant)
            Matrix(sparse(rows, columns, values, length(constant), length(known))) * known .+ constant
        end
        operation == "result" && return only(values)
        arguments = operation == "power" ? (values..., parameter) : operation == "select" ? (Bool.(values[1]), values[2:3]...) : values
        known = vcat(known, operations[Symbol(operation)].(arguments...))
    end
end
