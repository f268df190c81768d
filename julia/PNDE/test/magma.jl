# MAGMA's C interface, without a GPU: a small C library with the same functions, on the host's memory.
using LinearAlgebra, PNDE, Random
using PNDE: Magma, cholesky_batched!, cholesky_solve!

const SOURCE = """
#include <math.h>
#include <stdlib.h>
int calls = 0;
int magma_init(void) { return 0; }
void magma_queue_create_from_cuda_internal(int device, void *stream, void *cublas, void *cusparse, void **queue,
                                           const char *func, const char *file, int line) { *queue = &calls; }
#define DEFINE(letter, real)                                                                                  \\
  int magma_##letter##potrf_batched(int uplo, int n, real **A, int lda, int *info, int batch, void *queue) {  \\
    if (uplo != 122 || queue != &calls || batch > 65535) abort();                                             \\
    calls++;                                                                                                  \\
    for (int b = 0; b < batch; b++) {                                                                         \\
      real *a = A[b];                                                                                         \\
      info[b] = 0;                                                                                            \\
      for (int j = 0; j < n && !info[b]; j++) {                                                               \\
        real s = a[j + j * lda];                                                                              \\
        for (int k = 0; k < j; k++) s -= a[j + k * lda] * a[j + k * lda];                                     \\
        if (!(s > 0)) { info[b] = j + 1; break; }                                                             \\
        a[j + j * lda] = sqrt(s);                                                                             \\
        for (int i = j + 1; i < n; i++) {                                                                     \\
          real t = a[i + j * lda];                                                                            \\
          for (int k = 0; k < j; k++) t -= a[i + k * lda] * a[j + k * lda];                                   \\
          a[i + j * lda] = t / a[j + j * lda];                                                                \\
        }                                                                                                     \\
      }                                                                                                       \\
    }                                                                                                         \\
    return 0;                                                                                                 \\
  }                                                                                                           \\
  int magma_##letter##potrs_batched(int uplo, int n, int nrhs, real **A, int lda, real **B, int ldb,          \\
                                    int batch, void *queue) {                                                 \\
    if (uplo != 122 || queue != &calls || nrhs != 1 || batch > 65535) abort();                                \\
    for (int b = 0; b < batch; b++) {                                                                         \\
      real *a = A[b], *x = B[b];                                                                              \\
      for (int i = 0; i < n; i++) {                                                                           \\
        for (int k = 0; k < i; k++) x[i] -= a[i + k * lda] * x[k];                                            \\
        x[i] /= a[i + i * lda];                                                                               \\
      }                                                                                                       \\
      for (int i = n - 1; i >= 0; i--) {                                                                      \\
        for (int k = i + 1; k < n; k++) x[i] -= a[k + i * lda] * x[k];                                        \\
        x[i] /= a[i + i * lda];                                                                               \\
      }                                                                                                       \\
    }                                                                                                         \\
    return 0;                                                                                                 \\
  }
DEFINE(s, float)
DEFINE(d, double)
"""

if Sys.which("gcc") === nothing
    @test_skip "gcc builds the library that stands for MAGMA"
else
    folder = mktempdir()
    write(joinpath(folder, "magma.c"), SOURCE)
    library = joinpath(folder, "libmagma.so")
    run(`gcc -O1 -shared -fPIC -o $library $(joinpath(folder, "magma.c")) -lm`)
    magma = Magma(library)
    rng = Xoshiro(7)

    @testset "$T" for T in (Float32, Float64)
        m, B = 4, 70_000  # more than one call takes
        A = randn(rng, T, m, m, B)
        S = PNDE.batched_mul(A, PNDE.batched_transpose(A)) .+ Matrix{T}(I, m, m)
        S[:, :, 3] .*= -1
        L, reference = cholesky_batched!(magma, copy(S)), cholesky_batched!(copy(S))
        good = setdiff(1:B, 3)
        @test L[:, :, good] ≈ reference[:, :, good]
        @test all(isnan, L[:, :, 3])
        b = randn(rng, T, m, B)
        x = cholesky_solve!(magma, L, copy(b))
        @test x[:, good] ≈ cholesky_solve!(reference, copy(b))[:, good]
        @test all(isnan, x[:, 3])
    end
    @test_throws ErrorException Magma(joinpath(folder, "nothing.so"))
end
