/* split.cuh in double precision */
#include "splitlaunch.cuh"

int bcr_split_planes(const RingArgs<double> &a, int N1, int back, int shift, cudaStream_t stream)
{
  return split_planes_any(a, N1, back, shift, stream);
}
int bcr_split_lines(const SplitLinesArgs<double> &a, int N2, int columns, int segments, int grid, cudaStream_t stream,
                    int *clusters)
{
  return split_lines_any(a, N2, columns, segments, grid, stream, clusters);
}
