/*
  Executes PTX (NVIDIA's "PTX ISA", version 9) on the host.

  Every thread has a program counter of its own; the threads of a warp that are at the same
  instruction execute it together, those with the least counter first, so that they meet again where
  branches join. A thread that is at a synchronizing instruction (shfl, vote, bar.warp.sync, mma,
  bar, barrier.cluster) waits there until those that it names have come. Blocks of a cluster take
  turns, blocks of the grid begin one after another, and further ones while those before only wait.
  Asynchronous copies happen when they are waited for, not before; memory that nobody has written
  holds NaNs: what reads too early gives a wrong answer here, too.

  A register is a slot of 32 numbers of 64 bits, one for each lane; immediate numbers, addresses of
  variables and special registers are slots that are filled before a warp begins. Addresses of
  shared memory are (rank in the cluster + 1) * 2^24 + offset, all others are those of the host.
  Functions that a kernel calls are put in line.
*/
#include "emulator.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

typedef uint64_t u64;
typedef uint32_t Mask;
const Mask ALL = 0xffffffffu;

struct Warp;
struct Inst;
typedef void (*Handler)(Warp &, const Inst &, Mask);

enum Kind : uint8_t {
  PLAIN,
  BRANCH,
  EXIT,
  TOGETHER, /* with the threads of the warp that its member mask names */
  BARRIER,
  ARRIVE,
  WAIT /* of a cluster */
};
enum Space : uint8_t {
  GENERIC,
  GLOBAL,
  SHARED,
  LOCAL
};

struct Inst {
  Handler f = nullptr;
  Kind kind = PLAIN;
  /* m(ul), a(dd), s(ub) of floats, M, A, S of doubles, which may become one fma (PTX ISA: those
     that name no rounding) */
  char fuses = 0;
  Space space = GENERIC;
  bool negate = false, polls = false; /* polls: reads what others may be about to write */
  uint8_t n = 1, bytes = 4;           /* elements, bytes of each */
  int guard = -1, members = -1, target = -1;
  int d[8], s[16]; /* slots; -1: none */
  int64_t offset[2] = {0, 0};
  unsigned line = 0;

  Inst()
  {
    for (int &x : d) x = -1;
    for (int &x : s) x = -1;
  }
};

struct Constant {
  enum What {
    NUMBER,
    TID,
    NTID,
    CTAID,
    NCTAID,
    LANE,
    WARP,
    RANK,
    NRANKS,
    SHAREDVAR,
    DYNAMIC,
    LOCALVAR,
    PARAMETER
  } what;
  int axis;
  u64 value;
  int slot;
};

struct Parameter {
  std::string name;
  size_t offset, bytes;
};

struct Module;
struct Copy {
  char *to;
  const char *from;
  unsigned bytes, given;
};
struct Bulk {
  Copy copy;
  char *barrier;
  std::vector<char> sent; /* st.async: what is copied */
};

} // namespace

struct EmuKernel {
  Module *module = nullptr;
  std::string name, head, body;
  unsigned line = 0;
  bool parsed = false;
  std::vector<Parameter> parameters;
  size_t parameter_bytes = 0, shared_bytes = 0, local_bytes = 0;
  int slots = 0, max_threads = 1024;
  std::vector<Inst> code;
  std::vector<Constant> constants;
};

namespace {

struct Function {
  std::string head, body;
  unsigned line = 0;
  std::vector<Parameter> results, parameters;
};
struct SharedVariable {
  size_t bytes, align;
  bool dynamic;
};
struct Module {
  std::unordered_map<std::string, std::unique_ptr<EmuKernel>> kernels;
  std::unordered_map<std::string, Function> functions;
  std::unordered_map<std::string, SharedVariable> shared; /* of all of the module */
  std::unordered_map<std::string, std::pair<char *, size_t>> variables;
};
std::list<Module> &modules()
{
  static std::list<Module> all;
  return all;
}
std::vector<std::pair<char *, size_t>> &variable_ranges()
{
  static std::vector<std::pair<char *, size_t>> all;
  return all;
}

[[noreturn]] void fail(const std::string &what)
{
  throw what;
}

/* ---------------------------------------------------------------- what executes
   ---------------------------------------------------------------- */

struct Block;
struct Lane {
  std::vector<Copy> copies, stores; /* stores: bulk copies to global memory */
  std::vector<size_t> groups;       /* copies before the end of each committed group */
};
struct Warp {
  Block *block = nullptr;
  int index = 0;
  std::vector<u64> r;
  std::vector<char> local;
  int pc[32], barrier[32];
  unsigned phase[32]; /* of the cluster's barrier on arrival */
  Mask alive = 0, run = 0, parked = 0, at_barrier = 0, waiting = 0;
  Lane lanes[32];
  bool last_first = false, yields = false; /* yields: it only polls, it seems */
  int polled = 0;

  u64 *slot(int k) { return r.data() + 32 * (size_t)k; }
};
struct Cluster;
struct Block {
  Cluster *cluster = nullptr;
  unsigned id[3], rank = 0;
  std::vector<char> shared;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<Bulk> bulk;
  unsigned threads = 0, arrived[16], expected[16];
};
struct Grid {
  const EmuKernel *kernel = nullptr;
  unsigned grid[3], block[3], cluster[3];
  size_t dynamic = 0, dynamic_offset = 0;
  std::vector<char> parameters;
  char *low = nullptr, *high = nullptr; /* the allocation of the last access */
};
struct Cluster {
  Grid *grid = nullptr;
  std::vector<std::unique_ptr<Block>> blocks;
  unsigned arrived = 0, threads = 0, phase = 0;
};

template <typename T>
inline T get(const u64 *p, int lane)
{
  T v;
  std::memcpy(&v, p + lane, sizeof(T));
  return v;
}
template <>
inline bool get<bool>(const u64 *p, int lane)
{
  return p[lane] != 0;
}
template <typename T>
inline void put(u64 *p, int lane, T v)
{
  u64 x = 0;
  std::memcpy(&x, &v, sizeof(T));
  p[lane] = x;
}
template <>
inline void put<bool>(u64 *p, int lane, bool v)
{
  p[lane] = v;
}
template <typename R, typename F>
inline void each(u64 *d, Mask m, F f)
{
  if (m == ALL) {
    for (int l = 0; l < 32; l++) put<R>(d, l, f(l));
  } else {
    for (int l = 0; l < 32; l++)
      if (m >> l & 1) put<R>(d, l, f(l));
  }
}
template <typename F>
inline void lanes_of(Mask m, F f)
{
  for (; m; m &= m - 1) f(__builtin_ctz(m));
}

char *shared_at(Warp &w, u64 address, size_t bytes)
{
  const u64 rank = (address >> 24) - 1, offset = address & 0xffffff;

  if (address >> 24 == 0 || rank >= w.block->cluster->blocks.size())
    fail("an address that is not one of shared memory");
  Block &b = *w.block->cluster->blocks[rank];

  if (offset + bytes > b.shared.size())
    fail("shared memory of " + std::to_string(b.shared.size()) + " bytes has no byte " +
         std::to_string(offset + bytes - 1));
  return b.shared.data() + offset;
}
char *at(Warp &w, Space space, u64 address, size_t bytes)
{
  if (space == SHARED) {
    char *p = shared_at(w, address, bytes);

    if (address % bytes) fail("an address of shared memory that is not aligned to " + std::to_string(bytes) + " bytes");
    return p;
  }
  char *p = (char *)address;

  if (p >= w.block->cluster->grid->low && p + bytes <= w.block->cluster->grid->high && address % bytes == 0 &&
      space != LOCAL)
    return p;
  if (address % bytes) fail("an address that is not aligned to " + std::to_string(bytes) + " bytes");
  if (space == LOCAL || space == GENERIC) {
    if (p >= w.local.data() && p + bytes <= w.local.data() + w.local.size()) return p;
    const std::vector<char> &q = w.block->cluster->grid->parameters;
    if (p >= q.data() && p + bytes <= q.data() + q.size()) return p;
    if (space == GENERIC) {
      for (auto &b : w.block->cluster->blocks)
        if (p >= b->shared.data() && p + bytes <= b->shared.data() + b->shared.size()) return p;
    }
  }
  char *low, *high;

  if (emu_memory_holds(p, bytes, &low, &high)) {
    w.block->cluster->grid->low = low;
    w.block->cluster->grid->high = high;
    return p;
  }
  for (auto &v : variable_ranges())
    if (p >= v.first && p + bytes <= v.first + v.second) return p;
  char text[80];

  std::snprintf(text, sizeof text, "%zu bytes at %p are in no memory of the device", bytes, (void *)p);
  fail(text);
}

void do_load(Warp &w, const Inst &i, Mask m)
{
  const u64 *a = w.slot(i.s[0]);

  lanes_of(m, [&](int l) {
    const char *p = at(w, i.space, a[l] + (u64)i.offset[0], (size_t)i.n * i.bytes);

    for (int k = 0; k < i.n; k++) {
      u64 x = 0;

      std::memcpy(&x, p + (size_t)k * i.bytes, i.bytes);
      if (i.d[k] >= 0) w.slot(i.d[k])[l] = x;
    }
  });
}
void do_load_signed(Warp &w, const Inst &i, Mask m) /* of fewer bytes than the register */
{
  do_load(w, i, m);
  for (int k = 0; k < i.n; k++)
    lanes_of(m, [&](int l) {
      w.slot(i.d[k])[l] = i.bytes == 1 ? (u64)(int64_t)(int8_t)w.slot(i.d[k])[l]
                                       : (i.bytes == 2 ? (u64)(int64_t)(int16_t)w.slot(i.d[k])[l]
                                                       : (u64)(int64_t)(int32_t)w.slot(i.d[k])[l]);
    });
}
void do_store(Warp &w, const Inst &i, Mask m)
{
  const u64 *a = w.slot(i.s[0]);

  lanes_of(m, [&](int l) {
    char *p = at(w, i.space, a[l] + (u64)i.offset[0], (size_t)i.n * i.bytes);

    for (int k = 0; k < i.n; k++) std::memcpy(p + (size_t)k * i.bytes, &w.slot(i.s[1 + k])[l], i.bytes);
  });
}
template <typename T, int OP>
void do_atomic(Warp &w, const Inst &i, Mask m)
{
  lanes_of(m, [&](int l) {
    char *p = at(w, i.space, w.slot(i.s[0])[l] + (u64)i.offset[0], sizeof(T));
    const T b = get<T>(w.slot(i.s[1]), l);
    T a;

    std::memcpy(&a, p, sizeof(T));
    T c = OP == 0 ? (T)(a + b) : (OP == 1 ? std::max(a, b) : (OP == 2 ? std::min(a, b) : b));
    if constexpr (OP == 4) c = a | b;
    std::memcpy(p, &c, sizeof(T));
    if (i.d[0] >= 0) put<T>(w.slot(i.d[0]), l, a);
  });
}

/* Asynchronous copies: what is copied is read when it is waited for */
void now(const Copy &c)
{
  std::memcpy(c.to, c.from, c.given);
  std::memset(c.to + c.given, 0, c.bytes - c.given);
}
void do_copy(Warp &w, const Inst &i, Mask m)
{
  lanes_of(m, [&](int l) {
    const unsigned bytes = (unsigned)w.slot(i.s[2])[l], given = i.s[3] >= 0 ? (unsigned)w.slot(i.s[3])[l] : bytes;
    char *to = at(w, SHARED, w.slot(i.s[0])[l] + (u64)i.offset[0], bytes);
    const u64 from = w.slot(i.s[1])[l] + (u64)i.offset[1];

    if (from % bytes) fail("the source of a copy of " + std::to_string(bytes) + " bytes is not aligned");
    if (given > bytes) fail("a copy of more bytes than there is room for");
    if (given) at(w, GENERIC, from, 1), at(w, GENERIC, from + given - 1, 1);
    w.lanes[l].copies.push_back({to, (const char *)from, bytes, given});
  });
}
void do_commit(Warp &w, const Inst &, Mask m)
{
  lanes_of(m, [&](int l) { w.lanes[l].groups.push_back(w.lanes[l].copies.size()); });
}
void finish_copies(Lane &lane, size_t keep, bool all)
{
  const size_t done =
    all ? lane.copies.size() : (lane.groups.size() > keep ? lane.groups[lane.groups.size() - keep - 1] : 0);

  if (all) lane.groups.clear();
  else if (lane.groups.size() > keep) lane.groups.erase(lane.groups.begin(), lane.groups.end() - (ptrdiff_t)keep);
  for (size_t k = 0; k < done; k++) now(lane.copies[k]);
  lane.copies.erase(lane.copies.begin(), lane.copies.begin() + (ptrdiff_t)done);
  for (size_t &g : lane.groups) g -= done;
}
void do_wait_group(Warp &w, const Inst &i, Mask m)
{
  lanes_of(m, [&](int l) { finish_copies(w.lanes[l], (size_t)w.slot(i.s[0])[l], false); });
}
void do_wait_all(Warp &w, const Inst &, Mask m)
{
  lanes_of(m, [&](int l) { finish_copies(w.lanes[l], 0, true); });
}

/* mbarrier: 8 bytes of shared memory; bytes that are still to come, arrivals that are still to
   come, of how many, and the phase */
struct MBarrier {
  int32_t bytes;
  uint16_t pending : 15, phase : 1, count;
};
static_assert(sizeof(MBarrier) == 8, "an mbarrier has 64 bits");

void settle(MBarrier &b)
{
  if (b.pending || b.bytes) return;
  b.phase ^= 1;
  b.pending = b.count & 0x7fff;
}
template <typename F>
void mbarrier(char *p, F f)
{
  MBarrier b;

  std::memcpy((void *)&b, p, 8);
  f(b);
  std::memcpy(p, (const void *)&b, 8);
}
void do_mbarrier_init(Warp &w, const Inst &i, Mask m)
{
  lanes_of(m, [&](int l) {
    const uint16_t count = (uint16_t)w.slot(i.s[1])[l];

    mbarrier(at(w, SHARED, w.slot(i.s[0])[l] + (u64)i.offset[0], 8), [&](MBarrier &b) {
      b = {0, (uint16_t)(count & 0x7fff), 0, count};
    });
  });
}
void do_mbarrier_arrive(Warp &w, const Inst &i, Mask m) /* s[1]: bytes to expect, or -1 */
{
  lanes_of(m, [&](int l) {
    const int32_t bytes = i.s[1] >= 0 ? (int32_t)w.slot(i.s[1])[l] : 0;

    mbarrier(at(w, SHARED, w.slot(i.s[0])[l] + (u64)i.offset[0], 8), [&](MBarrier &b) {
      if (!b.pending) fail("more arrivals at an mbarrier than it was made for");
      b.bytes += bytes;
      b.pending--;
      settle(b);
    });
  });
}
void do_bulk(Warp &w, const Inst &i, Mask m) /* [to], [from], bytes, [barrier] */
{
  lanes_of(m, [&](int l) {
    const unsigned bytes = (unsigned)w.slot(i.s[2])[l];
    const u64 to = w.slot(i.s[0])[l] + (u64)i.offset[0], from = w.slot(i.s[1])[l] + (u64)i.offset[1];

    if (bytes % 16 || to % 16 || from % 16) fail("a bulk copy of a size or address that is no multiple of 16");
    if (!bytes) fail("a bulk copy of nothing");
    at(w, GENERIC, from, 16), at(w, GENERIC, from + bytes - 16, 16);
    w.block->bulk.push_back({
      {shared_at(w, to, bytes), (const char *)from, bytes, bytes},
      at(w, SHARED, w.slot(i.s[3])[l], 8),
      std::vector<char>()
    });
  });
}
void do_bulk_store(Warp &w, const Inst &i, Mask m) /* [to], [from], bytes; all of a thread are one group */
{
  lanes_of(m, [&](int l) {
    const unsigned bytes = (unsigned)w.slot(i.s[2])[l];
    const u64 to = w.slot(i.s[0])[l] + (u64)i.offset[0], from = w.slot(i.s[1])[l] + (u64)i.offset[1];

    if (bytes % 16 || to % 16 || from % 16) fail("a bulk copy of a size or address that is no multiple of 16");
    if (!bytes) fail("a bulk copy of nothing");
    at(w, GENERIC, to, 16), at(w, GENERIC, to + bytes - 16, 16);
    w.lanes[l].stores.push_back({(char *)to, shared_at(w, from, bytes), bytes, bytes});
  });
}
void do_bulk_wait(Warp &w, const Inst &i, Mask m)
{
  lanes_of(m, [&](int l) {
    if (w.slot(i.s[0])[l]) fail("a wait for all but some bulk copies");
    for (const Copy &c : w.lanes[l].stores) now(c);
    w.lanes[l].stores.clear();
  });
}
void do_send(Warp &w, const Inst &i, Mask m) /* st.async: [to], numbers of i.bytes, [barrier] in s[3] */
{
  lanes_of(m, [&](int l) {
    const unsigned bytes = (unsigned)i.n * i.bytes;
    const u64 to = w.slot(i.s[0])[l] + (u64)i.offset[0];
    std::vector<char> sent(bytes);

    if (to % bytes) fail("the place of what is sent is not aligned");
    for (int q = 0; q < i.n; q++) std::memcpy(sent.data() + q * i.bytes, w.slot(i.s[1 + q]) + l, i.bytes);
    w.block->bulk.push_back({
      {shared_at(w, to, bytes), nullptr, bytes, bytes},
      at(w, SHARED, w.slot(i.s[3])[l], 8), std::move(sent)
    });
  });
}
void do_try_wait(Warp &w, const Inst &i, Mask m)
{
  lanes_of(m, [&](int l) {
    char *p = at(w, SHARED, w.slot(i.s[0])[l] + (u64)i.offset[0], 8);

    for (auto &b : w.block->cluster->blocks) {
      auto &all = b->bulk;

      for (size_t k = 0; k < all.size();) {
        if (all[k].barrier != p) {
          k++;
          continue;
        }
        if (!all[k].sent.empty()) all[k].copy.from = all[k].sent.data();
        now(all[k].copy);
        mbarrier(p, [&](MBarrier &q) {
          q.bytes -= (int32_t)all[k].copy.bytes;
          settle(q);
        });
        all.erase(all.begin() + (ptrdiff_t)k);
      }
    }
    mbarrier(p, [&](MBarrier &q) { w.slot(i.d[0])[l] = q.phase != (w.slot(i.s[1])[l] & 1); });
  });
}

/* Of a warp */
enum Shuffle {
  UP,
  DOWN,
  BFLY,
  IDX
};
template <int MODE>
void do_shuffle(Warp &w, const Inst &i, Mask m)
{
  u64 a[32];
  const u64 *b = w.slot(i.s[1]), *c = w.slot(i.s[2]);

  std::memcpy(a, w.slot(i.s[0]), sizeof a);
  lanes_of(m, [&](int l) {
    const int bv = (int)b[l] & 31, cv = (int)c[l] & 31, seg = (int)(c[l] >> 8) & 31, most = (l & seg) | (cv & ~seg),
              least = l & seg;
    int j = MODE == UP ? l - bv : (MODE == DOWN ? l + bv : (MODE == BFLY ? l ^ bv : (least | (bv & ~seg))));
    const bool p = MODE == UP ? j >= most : j <= most;

    if (!p) j = l;
    if (!(m >> j & 1)) fail("shfl reads lane " + std::to_string(j) + ", which does not take part");
    w.slot(i.d[0])[l] = (uint32_t)a[j];
    if (i.d[1] >= 0) w.slot(i.d[1])[l] = p;
  });
}
template <int MODE>
void do_vote(Warp &w, const Inst &i, Mask m) /* 0: any, 1: all, 2: ballot */
{
  Mask yes = 0;

  lanes_of(m, [&](int l) { yes |= (Mask)((w.slot(i.s[0])[l] != 0) != i.negate) << l; });
  each<u64>(w.slot(i.d[0]), m, [&](int) -> u64 { return MODE == 0 ? yes != 0 : (MODE == 1 ? yes == m : yes); });
}
void do_active(Warp &w, const Inst &i, Mask m)
{
  each<u64>(w.slot(i.d[0]), m, [&](int) -> u64 { return m; });
}
/* D = A B + C of doubles by the whole warp, A of `ROWS` x K, B of K x 8 */
template <int ROWS, int K>
void do_mma(Warp &w, const Inst &i, Mask m)
{
  double A[ROWS][K], B[K][8], C[ROWS][8];
  const int na = ROWS * K / 32, nb = K * 8 / 32, nc = ROWS / 4;

  if (m != ALL) fail("mma by a part of a warp");
  for (int l = 0; l < 32; l++) {
    const int g = l / 4, t = l % 4;

    for (int q = 0; q < na; q++)
      A[g + (ROWS == 16 ? 8 * (q % 2) : 0)][t + 4 * (ROWS == 16 ? q / 2 : q)] = get<double>(w.slot(i.s[q]), l);
    for (int q = 0; q < nb; q++) B[t + 4 * q][g] = get<double>(w.slot(i.s[na + q]), l);
    for (int q = 0; q < nc; q++) C[g + 8 * (q / 2)][2 * t + q % 2] = get<double>(w.slot(i.s[na + nb + q]), l);
  }
  for (int l = 0; l < 32; l++) {
    for (int q = 0; q < nc; q++) {
      const int row = l / 4 + 8 * (q / 2), column = 2 * (l % 4) + q % 2;
      double x = C[row][column];

      for (int k = 0; k < K; k++) x = std::fma(A[row][k], B[k][column], x);
      put<double>(w.slot(i.d[q]), l, x);
    }
  }
}
void do_nothing(Warp &, const Inst &, Mask)
{
}
void do_map(Warp &w, const Inst &i, Mask m) /* mapa of an address of shared memory */
{
  each<u64>(w.slot(i.d[0]), m, [&](int l) -> u64 {
    return ((w.slot(i.s[0])[l] + (u64)i.offset[0]) & 0xffffff) + ((u64)((uint32_t)w.slot(i.s[1])[l] + 1) << 24);
  });
}
void do_map_generic(Warp &w, const Inst &i, Mask m)
{
  lanes_of(m, [&](int l) {
    char *p = (char *)w.slot(i.s[0])[l];
    const unsigned rank = (unsigned)w.slot(i.s[1])[l];

    if (rank >= w.block->cluster->blocks.size()) fail("mapa of a block that the cluster has not");
    for (auto &b : w.block->cluster->blocks) {
      if (p >= b->shared.data() && p < b->shared.data() + b->shared.size()) {
        w.slot(i.d[0])[l] = (u64)(w.block->cluster->blocks[rank]->shared.data() + (p - b->shared.data()));
        return;
      }
    }
    fail("mapa of an address that is not one of shared memory");
  });
}
void do_shared_to_generic(Warp &w, const Inst &i, Mask m)
{
  each<u64>(w.slot(i.d[0]), m, [&](int l) -> u64 { return (u64)shared_at(w, w.slot(i.s[0])[l], 0); });
}
void do_generic_to_shared(Warp &w, const Inst &i, Mask m)
{
  const auto &blocks = w.block->cluster->blocks;

  each<u64>(w.slot(i.d[0]), m, [&](int l) -> u64 {
    const char *p = (const char *)w.slot(i.s[0])[l];

    for (size_t rank = 0; rank < blocks.size(); rank++) {
      const std::vector<char> &s = blocks[rank]->shared;

      if (p >= s.data() && p <= s.data() + s.size()) return ((u64)(rank + 1) << 24) + (u64)(p - s.data());
    }
    fail("an address that is not one of shared memory");
    return 0;
  });
}

/* ------------------------------------------------------------ arithmetic, by its name
   ----------------------------------------------------------- */

std::unordered_map<std::string, Handler> &handlers()
{
  static std::unordered_map<std::string, Handler> all;
  return all;
}

#define OP(NAME, R, N, ...) \
  handlers()[NAME] = [](Warp &w, const Inst &i, Mask m) { \
    u64 *d = w.slot(i.d[0]), *A = w.slot(i.s[0]), *B = w.slot(i.s[N > 1 ? 1 : 0]), *C = w.slot(i.s[N > 2 ? 2 : 0]); \
    (void)A; \
    (void)B; \
    (void)C; \
    each<R>(d, m, [&](int l) -> R { return (R)(__VA_ARGS__); }); \
  };
#define a_ get<T>(A, l)
#define b_ get<T>(B, l)
#define c_ get<T>(C, l)

template <typename T>
T high(T a, T b);
template <>
uint32_t high(uint32_t a, uint32_t b)
{
  return (uint32_t)((u64)a * b >> 32);
}
template <>
int32_t high(int32_t a, int32_t b)
{
  return (int32_t)((int64_t)a * b >> 32);
}
template <>
u64 high(u64 a, u64 b)
{
  return (u64)((unsigned __int128)a * b >> 64);
}
template <>
int64_t high(int64_t a, int64_t b)
{
  return (int64_t)((__int128)a * b >> 64);
}

/* of unsigned numbers of as many bits: overflow wraps around */
template <typename T>
struct Wrap {
  typedef typename std::make_unsigned<T>::type U;
};

template <typename T, typename U = typename Wrap<T>::U>
void integer(const std::string &t)
{
  OP("add." + t, T, 2, (U)((U)a_ + (U)b_))
  OP("sub." + t, T, 2, (U)((U)a_ - (U)b_))
  OP("mul.lo." + t, T, 2, (U)((u64)(U)a_ * (u64)(U)b_))
  OP("mad.lo." + t, T, 3, (U)((u64)(U)a_ * (u64)(U)b_ + (u64)(U)c_))
  OP("min." + t, T, 2, std::min(a_, b_))
  OP("max." + t, T, 2, std::max(a_, b_))
  OP("div." + t, T, 2, b_ == 0 ? (T)-1 : (b_ == (T)-1 && std::is_signed<T>::value ? (T)(U)(0 - (U)a_) : (T)(a_ / b_)))
  OP("rem." + t, T, 2, b_ == 0 ? a_ : (b_ == (T)-1 && std::is_signed<T>::value ? (T)0 : (T)(a_ % b_)))
  OP("shr." + t, T, 2,
     get<uint32_t>(B, l) >= 8 * sizeof(T) ? (std::is_signed<T>::value && a_ < 0 ? (T)-1 : (T)0)
                                          : (T)(a_ >> get<uint32_t>(B, l)))
  OP("neg." + t, T, 1, (U)(0 - (U)a_))
  OP("abs." + t, T, 1, a_ < 0 ? (U)(0 - (U)a_) : (U)a_)
}
template <typename T>
void integer_high(const std::string &t)
{
  OP("mul.hi." + t, T, 2, high<T>(a_, b_))
}
template <typename T>
void bits(const std::string &t)
{
  OP("and." + t, T, 2, a_ & b_)
  OP("or." + t, T, 2, a_ | b_)
  OP("xor." + t, T, 2, a_ ^ b_)
  OP("not." + t, T, 1, ~a_)
  OP("shl." + t, T, 2, get<uint32_t>(B, l) >= 8 * sizeof(T) ? (T)0 : (T)(a_ << get<uint32_t>(B, l)))
  OP("shr." + t, T, 2, get<uint32_t>(B, l) >= 8 * sizeof(T) ? (T)0 : (T)(a_ >> get<uint32_t>(B, l)))
  OP("cnot." + t, T, 1, a_ == 0)
  OP("popc." + t, uint32_t, 1, __builtin_popcountll((u64)a_))
  OP("clz." + t, uint32_t, 1, a_ ? __builtin_clzll((u64)a_) - (64 - 8 * (int)sizeof(T)) : 8 * (int)sizeof(T))
  handlers()["bfi." + t] = [](Warp &w, const Inst &i, Mask m) {
    each<T>(w.slot(i.d[0]), m, [&](int l) -> T {
      const uint32_t at = (uint32_t)w.slot(i.s[2])[l] & 255, count = (uint32_t)w.slot(i.s[3])[l] & 255,
                     most = 8 * sizeof(T);
      const T a = get<T>(w.slot(i.s[0]), l), b = get<T>(w.slot(i.s[1]), l);

      if (at >= most || !count) return b;
      const T ones = (T)((count >= most ? (T) ~(T)0 : (T)(((T)1 << count) - 1)) << at);
      return (T)((b & ~ones) | ((T)(a << at) & ones));
    });
  };
}
template <typename T, typename W>
void wide(const std::string &t)
{
  OP("mul.wide." + t, W, 2, (W)a_ * (W)b_)
  OP("mad.wide." + t, W, 3, (u64)((W)a_ * (W)b_) + (u64)get<W>(C, l))
}
template <typename T>
T truncated(T x, int mode)
{
  return mode == 'z' ? std::trunc(x) : (mode == 'm' ? std::floor(x) : (mode == 'p' ? std::ceil(x) : std::nearbyint(x)));
}
template <typename T>
void real(const std::string &t)
{
  for (const char *r : {"", "rn."}) {
    OP(std::string("add.") + r + t, T, 2, a_ + b_)
    OP(std::string("sub.") + r + t, T, 2, a_ - b_)
    OP(std::string("mul.") + r + t, T, 2, a_ * b_)
    OP(std::string("fma.") + r + t, T, 3, std::fma(a_, b_, c_))
    OP(std::string("div.") + r + t, T, 2, a_ / b_)
    OP(std::string("rcp.") + r + t, T, 1, (T)1 / a_)
    OP(std::string("sqrt.") + r + t, T, 1, std::sqrt(a_))
  }
  OP("product-less." + t, T, 3, std::fma(a_, b_, -c_))
  OP("less-product." + t, T, 3, std::fma(-a_, b_, c_))
  OP("neg." + t, T, 1, -a_)
  OP("abs." + t, T, 1, std::fabs(a_))
  OP("min." + t, T, 2, std::fmin(a_, b_))
  OP("max." + t, T, 2, std::fmax(a_, b_))
  OP("copysign." + t, T, 2, std::copysign(b_, a_))
}
template <typename T>
void compare(const std::string &t, bool is_real)
{
  OP("setp.eq." + t, bool, 2, a_ == b_)
  OP("setp.ne." + t, bool, 2, a_<b_ || a_> b_ || (!(a_ == b_) && a_ == a_ && b_ == b_))
  OP("setp.lt." + t, bool, 2, a_ < b_)
  OP("setp.le." + t, bool, 2, a_ <= b_)
  OP("setp.gt." + t, bool, 2, a_ > b_)
  OP("setp.ge." + t, bool, 2, a_ >= b_)
  if (!is_real) return;
  OP("setp.equ." + t, bool, 2, !(a_ < b_ || a_ > b_))
  OP("setp.neu." + t, bool, 2, !(a_ == b_))
  OP("setp.ltu." + t, bool, 2, !(a_ >= b_))
  OP("setp.leu." + t, bool, 2, !(a_ > b_))
  OP("setp.gtu." + t, bool, 2, !(a_ <= b_))
  OP("setp.geu." + t, bool, 2, !(a_ < b_))
  OP("setp.num." + t, bool, 2, a_ == a_ && b_ == b_)
  OP("setp.nan." + t, bool, 2, !(a_ == a_ && b_ == b_))
}
template <typename T>
void pick(const std::string &t)
{
  OP("selp." + t, T, 3, C[l] ? a_ : b_)
  OP("mov." + t, T, 1, a_)
}
template <typename D, typename T>
void convert(const std::string &d, const std::string &t)
{
  for (const char *r : {"", "rn.", "rz.", "rzi.", "rni.", "rmi.", "rpi."}) {
    const char mode = r[0] && r[2] == 'i' ? r[1] : 0;

    if (std::is_floating_point<T>::value && mode) { /* to a whole number, out of range: the nearest that there is */
#define WHOLE(MODE) \
  OP("cvt." + std::string(r) + d + "." + t, D, 1, \
     std::is_floating_point<D>::value \
       ? (D)truncated((double)a_, MODE) \
       : (!(a_ == a_) ? (D)0 \
                      : (truncated((double)a_, MODE) >= (double)std::numeric_limits<D>::max() \
                           ? std::numeric_limits<D>::max() \
                           : (truncated((double)a_, MODE) <= (double)std::numeric_limits<D>::lowest() \
                                ? std::numeric_limits<D>::lowest() \
                                : (D)truncated((double)a_, MODE)))))
      if (mode == 'z') WHOLE('z')
      else if (mode == 'n') WHOLE('n')
      else if (mode == 'm') WHOLE('m')
      else WHOLE('p')
    } else if (!mode) OP("cvt." + std::string(r) + d + "." + t, D, 1, a_)
  }
}
template <typename D>
void converts(const std::string &d)
{
  convert<D, int8_t>(d, "s8");
  convert<D, uint8_t>(d, "u8");
  convert<D, int16_t>(d, "s16");
  convert<D, uint16_t>(d, "u16");
  convert<D, int32_t>(d, "s32");
  convert<D, uint32_t>(d, "u32");
  convert<D, int64_t>(d, "s64");
  convert<D, u64>(d, "u64");
  convert<D, float>(d, "f32");
  convert<D, double>(d, "f64");
}

/* What approximations in double precision give */
static double upper_half(double x)
{
  u64 y;

  std::memcpy(&y, &x, 8);
  y &= 0xffffffff00000000u;
  std::memcpy(&x, &y, 8);
  return x;
}

void make_handlers()
{
  integer<int16_t>("s16"), integer<uint16_t>("u16"), integer<int32_t>("s32"), integer<uint32_t>("u32"),
    integer<int64_t>("s64"), integer<u64>("u64");
  integer_high<int32_t>("s32"), integer_high<uint32_t>("u32"), integer_high<int64_t>("s64"), integer_high<u64>("u64");
  bits<uint16_t>("b16"), bits<uint32_t>("b32"), bits<u64>("b64");
  wide<int16_t, int32_t>("s16"), wide<uint16_t, uint32_t>("u16"), wide<int32_t, int64_t>("s32"),
    wide<uint32_t, u64>("u32");
  real<float>("f32"), real<double>("f64");
  compare<int16_t>("s16", false), compare<uint16_t>("u16", false), compare<int32_t>("s32", false),
    compare<uint32_t>("u32", false), compare<int64_t>("s64", false), compare<u64>("u64", false);
  compare<uint16_t>("b16", false), compare<uint32_t>("b32", false), compare<u64>("b64", false),
    compare<float>("f32", true), compare<double>("f64", true);
  for (const char *t : {"b16", "s16", "u16"}) pick<uint16_t>(t);
  for (const char *t : {"b32", "s32", "u32", "f32"}) pick<uint32_t>(t);
  for (const char *t : {"b64", "s64", "u64", "f64"}) pick<u64>(t);
  converts<int8_t>("s8"), converts<uint8_t>("u8"), converts<int16_t>("s16"), converts<uint16_t>("u16"),
    converts<int32_t>("s32"), converts<uint32_t>("u32"), converts<int64_t>("s64"), converts<u64>("u64"),
    converts<float>("f32"), converts<double>("f64");
  {
    typedef bool T;

    OP("mov.pred", bool, 1, a_)
    OP("and.pred", bool, 2, a_ &&b_)
    OP("or.pred", bool, 2, a_ || b_)
    OP("xor.pred", bool, 2, a_ != b_)
    OP("not.pred", bool, 1, !a_)
  }
  {
    typedef uint32_t T;

    OP("brev.b32", T, 1, [](uint32_t x) {
      uint32_t y = 0;
      for (int k = 0; k < 32; k++) y |= (x >> k & 1) << (31 - k);
      return y;
    }(a_))
    OP("bfind.u32", T, 1, a_ ? 31 - __builtin_clz(a_) : -1)
    OP("bfind.shiftamt.u32", T, 1, a_ ? __builtin_clz(a_) : -1)
    OP("prmt.b32", T, 3, [](u64 x, uint32_t how) {
      uint32_t y = 0;
      for (int k = 0; k < 4; k++) {
        const uint32_t s = how >> 4 * k & 15, byte = (uint32_t)(x >> 8 * (s & 7) & 255);
        y |= (s & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * k;
      }
      return y;
    }((u64)b_ << 32 | a_, c_))
    OP("shf.l.wrap.b32", T, 3, (uint32_t)(((u64)b_ << 32 | a_) << (c_ & 31) >> 32))
    OP("shf.r.wrap.b32", T, 3, (uint32_t)(((u64)b_ << 32 | a_) >> (c_ & 31)))
  }
  {
    typedef float T;

    OP("lg2.approx.f32", T, 1, std::log2(a_))
    OP("ex2.approx.f32", T, 1, std::exp2(a_))
    OP("lg2.approx.ftz.f32", T, 1, std::log2(a_))
    OP("ex2.approx.ftz.f32", T, 1, std::exp2(a_))
    OP("rcp.approx.ftz.f32", T, 1, 1 / a_)
    OP("div.approx.f32", T, 2, a_ / b_)
    OP("div.full.f32", T, 2, a_ / b_)
  }
  {
    typedef double T;

    OP("rcp.approx.ftz.f64", T, 1, upper_half(1 / a_))
    OP("rsqrt.approx.ftz.f64", T, 1, upper_half(1 / std::sqrt(a_)))
  }
  handlers()["cvta.shared.u64"] = do_shared_to_generic;
  handlers()["cvta.to.shared.u64"] = do_generic_to_shared;
  handlers()["mapa.u64"] = do_map_generic;
  handlers()["activemask.b32"] = do_active;
  handlers()["cp.async.commit_group"] = do_commit;
  handlers()["cp.async.wait_group"] = do_wait_group;
  handlers()["cp.async.wait_all"] = do_wait_all;
  for (const char *t :
       {"cvta.to.global.u64", "cvta.param.u64", "cvta.local.u64", "cvta.to.local.u64", "cvta.global.u64"})
    handlers()[t] = handlers()["mov.u64"];
}

/* ------------------------------------------------------------------- reading PTX
   ---------------------------------------------------------------- */

bool starts(const std::string &s, const char *with)
{
  return s.compare(0, std::strlen(with), with) == 0;
}
std::string trimmed(const std::string &s)
{
  const size_t a = s.find_first_not_of(" \t\r\n"), b = s.find_last_not_of(" \t\r\n");

  return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}
std::vector<std::string> split(const std::string &s, const char *at)
{
  std::vector<std::string> all;
  size_t a = 0;

  while (true) {
    const size_t b = s.find_first_of(at, a);

    if (b != a) {
      const std::string t = trimmed(s.substr(a, b == std::string::npos ? b : b - a));

      if (!t.empty()) all.push_back(t);
    }
    if (b == std::string::npos) return all;
    a = b + 1;
  }
}
/* operands, at commas that are not in braces or brackets */
std::vector<std::string> operands(const std::string &s)
{
  std::vector<std::string> all;
  int depth = 0;
  size_t a = 0;

  for (size_t k = 0; k <= s.size(); k++) {
    if (k == s.size() || (s[k] == ',' && !depth)) {
      const std::string t = trimmed(s.substr(a, k - a));

      if (!t.empty()) all.push_back(t);
      a = k + 1;
    } else if (s[k] == '{' || s[k] == '[' || s[k] == '(') depth++;
    else if (s[k] == '}' || s[k] == ']' || s[k] == ')') depth--;
  }
  return all;
}
int type_bytes(const std::string &t)
{
  if (t == "pred") return 1;
  const int bits = std::atoi(t.c_str() + 1);

  return bits / 8;
}

/* `.align 8 .b8 name[24]`, `.u64 name`: name, bytes and alignment */
struct Declared {
  std::string name;
  size_t bytes = 0, align = 1;
};
Declared declared(const std::string &s)
{
  Declared r;
  const std::vector<std::string> words = split(s, " \t\n");
  size_t unit = 1;

  for (size_t k = 0; k < words.size(); k++) {
    if (words[k] == ".align") r.align = (size_t)std::atoi(words[++k].c_str());
    else if (words[k][0] == '.' && std::string("busf").find(words[k][1]) != std::string::npos && words[k].size() > 2 &&
             std::isdigit((unsigned char)words[k][2])) {
      unit = (size_t)type_bytes(words[k].substr(1));
      r.align = std::max(r.align, unit);
    } else if (words[k][0] != '.') {
      const size_t bracket = words[k].find('[');

      r.name = words[k].substr(0, bracket);
      r.bytes = unit;
      for (size_t b = bracket; b != std::string::npos; b = words[k].find('[', b + 1))
        r.bytes *= (size_t)std::atoll(words[k].c_str() + b + 1);
    }
  }
  return r;
}
std::vector<Parameter> parameter_list(const std::string &s)
{
  std::vector<Parameter> all;
  size_t offset = 0;

  for (const std::string &t : split(s, ",")) {
    const Declared d = declared(t);

    offset = (offset + d.align - 1) / d.align * d.align;
    all.push_back({d.name, offset, d.bytes});
    offset += d.bytes;
  }
  return all;
}

struct Scope {
  /* prefix -> first slot, how many (0: one of just this name) */
  std::unordered_map<std::string, std::pair<int, int>> registers;
  std::unordered_map<std::string, int> labels;
  std::vector<std::pair<int, std::string>> jumps; /* instruction, label */
  /* .local and .param of calls: offset into the thread's own memory */
  std::unordered_map<std::string, size_t> locals;
};

struct Reader {
  EmuKernel &k;
  Module &module;
  std::vector<Scope> scopes;
  std::unordered_map<std::string, int> constant_slots;
  std::unordered_map<std::string, size_t> shared_offsets;
  std::vector<int> returns; /* branches to the end of the function in line */
  int depth = 0;
  unsigned line = 0;

  Reader(EmuKernel &kernel) : k(kernel), module(*kernel.module) {}

  int constant(const std::string &key, Constant::What what, int axis, u64 value)
  {
    auto it = constant_slots.find(key);

    if (it != constant_slots.end()) return it->second;
    k.constants.push_back({what, axis, value, k.slots});
    return constant_slots[key] = k.slots++;
  }
  int number(u64 value) { return constant("#" + std::to_string(value), Constant::NUMBER, 0, value); }

  /* slot of a register; -1: there is none of this name */
  int reg(const std::string &name)
  {
    size_t digits = name.size();

    while (digits && std::isdigit((unsigned char)name[digits - 1])) digits--;
    const std::string prefix = name.substr(0, digits);

    for (size_t s = scopes.size(); s-- > 0;) {
      auto it = scopes[s].registers.find(name);

      if (it != scopes[s].registers.end() && !it->second.second) return it->second.first;
      if (digits < name.size()) {
        it = scopes[s].registers.find(prefix);
        if (it != scopes[s].registers.end() && it->second.second) {
          const int n = std::atoi(name.c_str() + digits);

          if (n < it->second.second) return it->second.first + n;
        }
      }
    }
    return -1;
  }
  bool local(const std::string &name, size_t *offset)
  {
    for (size_t s = scopes.size(); s-- > 0;) {
      auto it = scopes[s].locals.find(name);

      if (it != scopes[s].locals.end()) {
        *offset = it->second;
        return true;
      }
    }
    return false;
  }
  size_t new_local(const Declared &d)
  {
    const size_t offset = k.local_bytes; /* a multiple of 16, which is as much as any needs */

    k.local_bytes += (d.bytes + 15) / 16 * 16;
    scopes.back().locals[d.name] = offset;
    return offset;
  }

  /* slot of an operand: register, special register, number, variable */
  int slot(const std::string &t)
  {
    if (t == "_") return -1;
    const int r = reg(t);

    if (r >= 0) return r;
    if (t[0] == '%') {
      const int axis = t.size() > 2 && t[t.size() - 2] == '.' ? t.back() - 'x' : 0;

      if (starts(t, "%tid.")) return constant(t, Constant::TID, axis, 0);
      if (starts(t, "%ntid.")) return constant(t, Constant::NTID, axis, 0);
      if (starts(t, "%ctaid.")) return constant(t, Constant::CTAID, axis, 0);
      if (starts(t, "%nctaid.")) return constant(t, Constant::NCTAID, axis, 0);
      if (t == "%laneid") return constant(t, Constant::LANE, 0, 0);
      if (t == "%warpid") return constant(t, Constant::WARP, 0, 0);
      if (t == "%cluster_ctarank" || t == "%cluster_ctaid.x") return constant(t, Constant::RANK, 0, 0);
      if (t == "%cluster_nctarank" || t == "%cluster_nctaid.x") return constant(t, Constant::NRANKS, 0, 0);
      fail("register " + t + " is not known");
    }
    if (t == "WARP_SZ") return number(32);
    if (starts(t, "0f")) return number(std::strtoull(t.c_str() + 2, nullptr, 16));
    if (starts(t, "0d")) return number(std::strtoull(t.c_str() + 2, nullptr, 16));
    if (std::isdigit((unsigned char)t[0]) || t[0] == '-')
      return number(
        (u64)(t[0] == '-' ? std::strtoll(t.c_str(), nullptr, 0) : (int64_t)std::strtoull(t.c_str(), nullptr, 0)));
    size_t offset;

    if (local(t, &offset)) return constant("local " + std::to_string(offset), Constant::LOCALVAR, 0, offset);
    for (const Parameter &p : k.parameters)
      if (p.name == t) return constant(t, Constant::PARAMETER, 0, p.offset);
    auto sh = module.shared.find(t);

    if (sh != module.shared.end()) {
      if (sh->second.dynamic) return constant("dynamic shared", Constant::DYNAMIC, 0, 0);
      auto it = shared_offsets.find(t);

      if (it == shared_offsets.end()) {
        k.shared_bytes = (k.shared_bytes + sh->second.align - 1) / sh->second.align * sh->second.align;
        it = shared_offsets.emplace(t, k.shared_bytes).first;
        k.shared_bytes += sh->second.bytes;
      }
      return constant(t, Constant::SHAREDVAR, 0, it->second);
    }
    auto v = module.variables.find(t);

    if (v != module.variables.end()) return number((u64)v->second.first);
    fail("'" + t + "' is not known");
  }
  /* `[base+offset]` */
  int address(const std::string &t, int64_t *offset)
  {
    if (t.size() < 2 || t[0] != '[') fail("'" + t + "' is no address");
    const std::string in = trimmed(t.substr(1, t.find(']') - 1));
    const size_t plus = in.find('+');

    *offset = plus == std::string::npos ? 0 : std::strtoll(in.c_str() + plus + 1, nullptr, 0);
    return slot(trimmed(in.substr(0, plus)));
  }
  std::vector<std::string> elements(const std::string &t)
  {
    return t[0] == '{' ? split(t.substr(1, t.find('}') - 1), ",") : std::vector<std::string>(1, t);
  }

  void registers(const std::string &s) /* what follows `.reg` */
  {
    const size_t after = s.find_first_of(" \t");
    const std::string names = s.substr(after);

    for (const std::string &t : split(names, ",")) {
      const size_t angle = t.find('<');

      if (angle == std::string::npos) scopes.back().registers[t] = {k.slots++, 0};
      else {
        const int n = std::atoi(t.c_str() + angle + 1);

        scopes.back().registers[t.substr(0, angle)] = {k.slots, n};
        k.slots += n;
      }
    }
  }

  void open() { scopes.emplace_back(); }
  void close()
  {
    Scope s = std::move(scopes.back());

    scopes.pop_back();
    for (auto &j : s.jumps) {
      auto it = s.labels.find(j.second);

      if (it != s.labels.end()) k.code[(size_t)j.first].target = it->second;
      else if (scopes.empty()) fail("label " + j.second + " is not there");
      else scopes.back().jumps.push_back(j);
    }
  }

  void call(const std::string &rest, const Inst &guard)
  {
    /* (results), name, (arguments): each in parentheses if there is any */
    std::vector<std::string> parts = operands(rest), results, arguments;
    size_t at = 0;

    if (guard.guard >= 0) fail("a call with a guard");
    if (parts[0][0] == '(') results = split(parts[at++].substr(1), ",()");
    const std::string name = parts[at++];

    if (at < parts.size() && parts[at][0] == '(') arguments = split(parts[at].substr(1), ",()");
    auto f = module.functions.find(name);

    if (f == module.functions.end() || f->second.body.empty()) fail("function " + name + " is not there");
    if (++depth > 20) fail("functions call each other too deeply");
    open();
    for (size_t q = 0; q < arguments.size(); q++) {
      size_t offset;

      if (!local(arguments[q], &offset)) fail("argument " + arguments[q] + " is not there");
      scopes.back().locals[f->second.parameters[q].name] = offset;
    }
    for (size_t q = 0; q < results.size(); q++) {
      size_t offset;

      if (!local(results[q], &offset)) fail("result " + results[q] + " is not there");
      scopes.back().locals[f->second.results[q].name] = offset;
    }
    std::vector<int> outer;
    const unsigned here = line;

    outer.swap(returns);
    line = f->second.line;
    body(f->second.body);
    line = here;
    close();
    for (int j : returns) k.code[(size_t)j].target = (int)k.code.size();
    returns.swap(outer);
    depth--;
  }

  void instruction(std::string s)
  {
    Inst i;

    i.line = line;
    if (s[0] == '@') {
      const size_t e = s.find_first_of(" \t\n");

      i.negate = s[1] == '!';
      i.guard = reg(s.substr(i.negate ? 2 : 1, e - (i.negate ? 2 : 1)));
      if (i.guard < 0) fail("its guard is not known");
      s = trimmed(s.substr(e));
    }
    const size_t e = s.find_first_of(" \t\n");
    const std::string op = s.substr(0, e), rest = e == std::string::npos ? "" : trimmed(s.substr(e));
    const std::vector<std::string> part = split(op, ".");
    const std::string &root = part[0], &type = part.back();
    std::vector<std::string> o = operands(rest);
    const auto has = [&](const char *name) { return std::find(part.begin(), part.end(), name) != part.end(); };

    if (root == "call") return call(rest, i);
    if (starts(op, "st.async.")) {
      const std::vector<std::string> list = elements(o[1]);
      int64_t none;

      i.f = do_send;
      i.bytes = (uint8_t)type_bytes(type);
      i.n = (uint8_t)list.size();
      if (i.n > 2) fail("so many numbers to send are not known");
      i.s[0] = address(o[0], &i.offset[0]);
      for (size_t q = 0; q < list.size(); q++) i.s[1 + q] = slot(list[q]);
      i.s[3] = address(o[2], &none);
      if (none) fail("an mbarrier with an offset");
    } else if (root == "bra") {
      i.kind = BRANCH;
      scopes.back().jumps.push_back({(int)k.code.size(), o[0]});
    } else if (root == "ret" || root == "exit") {
      if (depth && root == "ret") {
        i.kind = BRANCH;
        returns.push_back((int)k.code.size());
      } else i.kind = EXIT;
    } else if (root == "ld" || root == "st" || root == "ldu") {
      i.space = has("shared") || has("shared::cta") || has("shared::cluster")
                  ? SHARED
                  : (has("local") || has("param") ? LOCAL : GENERIC);
      i.bytes = (uint8_t)type_bytes(type);
      const std::vector<std::string> list = elements(root == "st" ? o[1] : o[0]);

      i.n = (uint8_t)list.size();
      i.s[0] = address(root == "st" ? o[0] : o[1], &i.offset[0]);
      for (size_t q = 0; q < list.size(); q++) (root == "st" ? i.s[1 + q] : i.d[q]) = slot(list[q]);
      i.polls = has("volatile") || has("relaxed") || has("acquire");
      i.f = root == "st" ? do_store : (type[0] == 's' && type != "s64" ? do_load_signed : do_load);
    } else if (root == "atom" || root == "red") {
      i.space = has("shared") ? SHARED : GENERIC;
      if (root == "red") o.insert(o.begin(), "_");
      i.d[0] = slot(o[0]);
      i.s[0] = address(o[1], &i.offset[0]);
      i.s[1] = slot(o[2]);
      const int what = has("add") ? 0 : (has("max") ? 1 : (has("min") ? 2 : (has("exch") ? 3 : (has("or") ? 4 : -1))));

      if (what < 0) fail("this atomic operation is not known");
#define ATOMIC(NAME, T) \
  if (type == NAME) \
    i.f = what == 0 ? do_atomic<T, 0> : (what == 1 ? do_atomic<T, 1> : (what == 2 ? do_atomic<T, 2> : do_atomic<T, 3>));
      ATOMIC("u32", uint32_t)
      ATOMIC("s32", int32_t)
      ATOMIC("u64", u64)
      ATOMIC("f64", double)
      ATOMIC("f32", float)
      ATOMIC("b32", uint32_t)
      ATOMIC("b64", u64)
      if (what == 4 && type == "b32") i.f = do_atomic<uint32_t, 4>;
      if (what == 4 && type == "b64") i.f = do_atomic<u64, 4>;
    } else if (starts(op, "cp.async.ca.") || starts(op, "cp.async.cg.")) {
      i.f = do_copy;
      i.s[0] = address(o[0], &i.offset[0]);
      i.s[1] = address(o[1], &i.offset[1]);
      i.s[2] = slot(o[2]);
      if (o.size() > 3) i.s[3] = slot(o[3]);
    } else if (starts(op, "cp.async.bulk.shared")) {
      int64_t none;

      i.f = do_bulk;
      i.s[0] = address(o[0], &i.offset[0]);
      i.s[1] = address(o[1], &i.offset[1]);
      i.s[2] = slot(o[2]);
      i.s[3] = address(o[3], &none);
      if (none) fail("an mbarrier with an offset");
    } else if (starts(op, "cp.async.bulk.global")) {
      i.f = do_bulk_store;
      i.s[0] = address(o[0], &i.offset[0]);
      i.s[1] = address(o[1], &i.offset[1]);
      i.s[2] = slot(o[2]);
    } else if (starts(op, "cp.async.bulk.commit_group")) {
      i.f = do_nothing;
    } else if (starts(op, "cp.async.bulk.wait_group")) {
      i.f = do_bulk_wait;
      i.s[0] = slot(o[0]);
    } else if (root == "mbarrier") {
      const bool try_wait = has("try_wait") || has("test_wait"), init = has("init");
      const int first = init ? 0 : 1;

      i.s[0] = address(o[(size_t)first], &i.offset[0]);
      if (o.size() > (size_t)first + 1) i.s[1] = slot(o[(size_t)first + 1]);
      if (try_wait) i.d[0] = slot(o[0]);
      i.f = init ? do_mbarrier_init : (try_wait ? do_try_wait : do_mbarrier_arrive);
      i.polls = try_wait;
      if (!init && !try_wait && !has("arrive")) fail("this mbarrier operation is not known");
    } else if (root == "shfl") {
      const size_t bar = o[0].find('|');

      i.kind = TOGETHER;
      i.d[0] = slot(trimmed(o[0].substr(0, bar)));
      if (bar != std::string::npos) i.d[1] = slot(trimmed(o[0].substr(bar + 1)));
      for (int q = 0; q < 3; q++) i.s[q] = slot(o[(size_t)q + 1]);
      i.members = slot(o[4]);
      i.f = has("up") ? do_shuffle<UP>
                      : (has("down") ? do_shuffle<DOWN> : (has("bfly") ? do_shuffle<BFLY> : do_shuffle<IDX>));
    } else if (root == "vote") {
      if (o[1][0] == '!' || i.guard >= 0) fail("a vote with a guard");
      i.kind = TOGETHER;
      i.d[0] = slot(o[0]);
      i.s[0] = slot(o[1]);
      i.members = slot(o[2]);
      i.f = has("any") ? do_vote<0> : (has("all") ? do_vote<1> : do_vote<2>);
    } else if (op == "bar.warp.sync") {
      i.kind = TOGETHER;
      i.members = slot(o[0]);
      i.f = do_nothing;
    } else if (op == "bar.sync" || op == "barrier.sync" || op == "barrier.sync.aligned" || op == "bar.arrive") {
      if (op == "bar.arrive") fail("bar.arrive is not known");
      i.kind = BARRIER;
      i.s[0] = slot(o[0]);
      if (o.size() > 1) i.s[1] = slot(o[1]);
    } else if (starts(op, "barrier.cluster.")) {
      i.kind = has("arrive") ? ARRIVE : WAIT;
    } else if (root == "mma") {
      size_t at = 0;

      if (!has("f64")) fail("mma of these numbers is not known");
      for (size_t q = 1; q < 4; q++)
        for (const std::string &t : elements(o[q])) i.s[at++] = slot(t);
      at = 0;
      for (const std::string &t : elements(o[0])) i.d[at++] = slot(t);
      i.kind = TOGETHER;
      i.members = number(ALL);
      i.f = has("m16n8k4") ? do_mma<16, 4>
                           : (has("m16n8k8") ? do_mma<16, 8> : (has("m16n8k16") ? do_mma<16, 16> : do_mma<8, 4>));
    } else if (starts(op, "mapa.shared::cluster")) {
      i.f = do_map;
      i.d[0] = slot(o[0]);
      i.s[0] = o[1][0] == '[' ? address(o[1], &i.offset[0]) : slot(o[1]);
      i.s[1] = slot(o[2]);
    } else if (root == "fence" || root == "membar" || root == "griddepcontrol" || root == "nanosleep" ||
               root == "prefetch" || starts(op, "cp.async.bulk.prefetch") || root == "applypriority" ||
               root == "createpolicy" || root == "discard") {
      i.f = do_nothing;
    } else if (root == "mov" && (o[0][0] == '{' || o[1][0] == '{')) {
      const std::vector<std::string> list = elements(o[0][0] == '{' ? o[0] : o[1]);

      if (list.size() != 2) fail("a mov of so many numbers is not known");
      i.bytes = (uint8_t)(type_bytes(type) / 2);
      if (o[0][0] == '{') {
        i.s[0] = slot(o[1]);
        i.d[0] = slot(list[0]), i.d[1] = slot(list[1]);
        i.f = [](Warp &w, const Inst &q, Mask m) {
          const u64 ones = q.bytes == 4 ? 0xffffffffu : 0xffffu;

          lanes_of(m, [&](int l) {
            const u64 x = w.slot(q.s[0])[l];

            if (q.d[0] >= 0) w.slot(q.d[0])[l] = x & ones;
            if (q.d[1] >= 0) w.slot(q.d[1])[l] = x >> 8 * q.bytes & ones;
          });
        };
      } else {
        i.d[0] = slot(o[0]);
        i.s[0] = slot(list[0]), i.s[1] = slot(list[1]);
        i.f = [](Warp &w, const Inst &q, Mask m) {
          const u64 ones = q.bytes == 4 ? 0xffffffffu : 0xffffu;

          lanes_of(m, [&](int l) {
            w.slot(q.d[0])[l] = (w.slot(q.s[0])[l] & ones) | (w.slot(q.s[1])[l] & ones) << 8 * q.bytes;
          });
        };
      }
    } else {
      auto it = handlers().find(op);

      if (it == handlers().end()) fail("instruction " + op + " is not known");
      i.f = it->second;
      for (const char *t : {".f32", ".f64"})
        for (const char *name : {"mul", "add", "sub"})
          if (op == std::string(name) + t) i.fuses = (char)(name[0] - (t[2] == '6' ? 'a' - 'A' : 0));
      if (!o.empty() && starts(op, "cp.async")) i.s[0] = slot(o[0]); /* wait_group */
      else if (!o.empty()) {
        i.d[0] = slot(o[0]);
        for (size_t q = 1; q < o.size(); q++) i.s[q - 1] = slot(o[q]);
      }
    }
    k.code.push_back(i);
  }

  void body(const std::string &text)
  {
    size_t at = 0;

    open();
    while (at < text.size()) {
      const char c = text[at];

      if (c == '\n') line++;
      if (std::isspace((unsigned char)c) || c == ';') {
        at++;
      } else if (c == '/' && text[at + 1] == '/') {
        at = std::min(text.find('\n', at), text.size());
      } else if (c == '{') {
        open();
        at++;
      } else if (c == '}') {
        close();
        at++;
      } else {
        const size_t e = text.find_first_of(";:", at);
        size_t end = e;

        /* shared::cluster */
        while (end != std::string::npos && text[end] == ':' && text[end + 1] == ':')
          end = text.find_first_of(";:", end + 2);
        if (end == std::string::npos) fail("a statement without an end");
        const std::string s = trimmed(text.substr(at, end - at));

        if (text[end] == ':') scopes.back().labels[s] = (int)k.code.size();
        else {
          try {
            if (starts(s, ".reg")) registers(trimmed(s.substr(4)));
            else if (starts(s, ".local") || starts(s, ".param")) new_local(declared(s));
            else if (starts(s, ".shared") || starts(s, ".extern")) {
              const Declared d = declared(s);
              module.shared[d.name] = {d.bytes, d.align, starts(s, ".extern")};
            } else if (starts(s, ".pragma") || starts(s, ".loc")) {
            } else instruction(s);
          } catch (const std::string &what) {
            throw what.find('\n') == std::string::npos ? what + "\n  in: " + s : what;
          }
        }
        line += (unsigned)std::count(text.begin() + (ptrdiff_t)at, text.begin() + (ptrdiff_t)end, '\n');
        at = end + 1;
      }
    }
    close();
  }
};

/* A product that one sum of the same block of instructions takes, and nothing else, is rounded with
   it, as ptxas does it */
void fuse(EmuKernel &k)
{
  std::vector<int> writes((size_t)k.slots), reads((size_t)k.slots), product((size_t)k.slots, -1);
  std::vector<bool> begins(k.code.size() + 1);
  int block = 0;

  for (size_t q = 0; q < k.code.size(); q++) {
    for (int d : k.code[q].d)
      if (d >= 0) writes[(size_t)d]++;
    for (int s : k.code[q].s)
      if (s >= 0) reads[(size_t)s]++;
    if (k.code[q].guard >= 0) reads[(size_t)k.code[q].guard]++;
    if (k.code[q].kind == BRANCH) begins[(size_t)k.code[q].target] = begins[q + 1] = true;
  }
  for (size_t q = 0; q < k.code.size(); q++) {
    Inst &i = k.code[q];

    if (begins[q]) block = (int)q;
    const char what = (char)(i.fuses | 32);

    if (!i.fuses || i.guard >= 0) continue;
    if (what == 'm') {
      const bool once = writes[(size_t)i.d[0]] == 1 && writes[(size_t)i.s[0]] <= 1 && writes[(size_t)i.s[1]] <= 1;

      if (once && reads[(size_t)i.d[0]] == 1) product[(size_t)i.d[0]] = (int)q;
      continue;
    }
    for (int side = 0; side < 2; side++) {
      const int p = product[(size_t)i.s[side]];

      if (p < block || (k.code[(size_t)p].fuses == 'm') != (i.fuses == what)) continue;
      const Inst &m = k.code[(size_t)p];
      const std::string type = i.fuses == what ? "f32" : "f64";
      const int rest = i.s[1 - side];

      i.f = handlers()[(what == 'a' ? "fma.rn." : (side == 0 ? "product-less." : "less-product.")) + type];
      i.s[0] = m.s[0];
      i.s[1] = m.s[1];
      i.s[2] = rest;
      break;
    }
  }
}

void read_kernel(EmuKernel &k)
{
  if (k.parsed) return;
  if (handlers().empty()) make_handlers();
  Reader r(k);

  r.line = k.line;
  r.open();
  r.body(k.body);
  r.close();
  Inst end;

  end.kind = EXIT;
  k.code.push_back(end);
  fuse(k);
  k.parsed = true;
}

/* ------------------------------------------------------------------- execution
   ------------------------------------------------------------------ */

void begin_warp(Warp &w, Block &b, int index)
{
  const Grid &g = *b.cluster->grid;
  const EmuKernel &k = *g.kernel;
  const unsigned n = g.block[0] * g.block[1] * g.block[2], first = 32u * (unsigned)index;

  w.block = &b;
  w.index = index;
  w.alive = n - first >= 32 ? ALL : ((Mask)1 << (n - first)) - 1;
  w.run = w.alive;
  w.r.resize(32 * (size_t)k.slots);
  w.local.assign(32 * k.local_bytes, (char)0xff);
  for (int l = 0; l < 32; l++) w.pc[l] = 0;
  const u64 window = (u64)(b.rank + 1) << 24;

  for (const Constant &c : k.constants) {
    u64 *p = w.slot(c.slot), all = 0;

    switch (c.what) {
    case Constant::NUMBER:
      all = c.value;
      break;
    case Constant::NTID:
      all = g.block[c.axis];
      break;
    case Constant::CTAID:
      all = b.id[c.axis];
      break;
    case Constant::NCTAID:
      all = g.grid[c.axis];
      break;
    case Constant::WARP:
      all = (u64)index;
      break;
    case Constant::RANK:
      all = b.rank;
      break;
    case Constant::NRANKS:
      all = b.cluster->blocks.size();
      break;
    case Constant::SHAREDVAR:
      all = window + c.value;
      break;
    case Constant::DYNAMIC:
      all = window + g.dynamic_offset;
      break;
    case Constant::PARAMETER:
      all = (u64)(g.parameters.data() + c.value);
      break;
    case Constant::LANE:
      for (unsigned l = 0; l < 32; l++) p[l] = l;
      continue;
    case Constant::LOCALVAR:
      for (unsigned l = 0; l < 32; l++) p[l] = (u64)(w.local.data() + k.local_bytes * l + c.value);
      continue;
    case Constant::TID:
      for (unsigned l = 0; l < 32; l++) {
        const unsigned t = first + l;

        p[l] = c.axis == 0 ? t % g.block[0] : (c.axis == 1 ? t / g.block[0] % g.block[1] : t / g.block[0] / g.block[1]);
      }
      continue;
    }
    for (int l = 0; l < 32; l++) p[l] = all;
  }
}

void release_barrier(Block &b, unsigned id)
{
  b.arrived[id] = 0;
  for (auto &w : b.warps) {
    lanes_of(w->at_barrier, [&](int l) {
      if (w->barrier[l] != (int)id) return;
      w->at_barrier &= ~((Mask)1 << l);
      w->run |= (Mask)1 << l;
      w->pc[l]++;
    });
  }
}
void check_barriers(Block &b, unsigned ids)
{
  for (; ids; ids &= ids - 1) {
    const unsigned id = (unsigned)__builtin_ctz(ids);

    if (b.arrived[id] && b.arrived[id] >= (b.expected[id] ? b.expected[id] : b.threads)) release_barrier(b, id);
  }
}
void check_cluster(Cluster &c)
{
  if (!c.arrived || c.arrived < c.threads) return;
  c.arrived = 0;
  c.phase++;
  for (auto &b : c.blocks) {
    for (auto &w : b->warps) {
      lanes_of(w->waiting, [&](int l) {
        w->pc[l]++;
        w->run |= (Mask)1 << l;
      });
      w->waiting = 0;
    }
  }
}
void end_threads(Warp &w, Mask m)
{
  Block &b = *w.block;
  Cluster &c = *b.cluster;

  lanes_of(m, [&](int l) { finish_copies(w.lanes[l], 0, true); });
  w.alive &= ~m;
  w.run &= ~m;
  w.run |= w.parked; /* may have waited for these */
  w.parked = 0;
  b.threads -= (unsigned)__builtin_popcount(m);
  c.threads -= (unsigned)__builtin_popcount(m);
  check_barriers(b, 0xffff);
  check_cluster(c);
}

std::string where(const Warp &w, int lane, int pc)
{
  const Grid &g = *w.block->cluster->grid;
  char text[200];
  const unsigned t = 32u * (unsigned)w.index + (unsigned)lane;

  std::snprintf(text, sizeof text, "\n  block (%u, %u, %u), thread (%u, %u, %u), line %u of its PTX: ", w.block->id[0],
                w.block->id[1], w.block->id[2], t % g.block[0], t / g.block[0] % g.block[1],
                t / g.block[0] / g.block[1], g.kernel->code[(size_t)pc].line);
  /* the text of that line */
  const std::string &body = g.kernel->body;
  size_t at = 0;
  unsigned n = g.kernel->line;

  while (n < g.kernel->code[(size_t)pc].line && at != std::string::npos && at < body.size()) {
    at = body.find('\n', at);
    if (at != std::string::npos) at++;
    n++;
  }
  return std::string(text) + (at < body.size() ? trimmed(body.substr(at, body.find('\n', at) - at)) : "in a function");
}

/* Until no thread of it can go on or `most` instructions are done; returns their number */
long run_warp(Warp &w, long most)
{
  const std::vector<Inst> &code = w.block->cluster->grid->kernel->code;
  long steps = 0;

  w.yields = false;
  while (w.run && steps < most) {
    /* those at the least counter; after a slice that has not come to an end, at the largest: they
       may be waiting for each other */
    int pc = -1, next = 0x7fffffff;
    Mask group = 0;

    lanes_of(w.run, [&](int l) {
      if (pc < 0 || (w.last_first ? w.pc[l] > pc : w.pc[l] < pc)) pc = w.pc[l];
    });
    lanes_of(w.run, [&](int l) {
      if (w.pc[l] == pc) group |= (Mask)1 << l;
      else if (w.pc[l] > pc) next = std::min(next, w.pc[l]);
    });
    try {
      while (true) {
        const Inst &i = code[(size_t)pc];

        if (i.kind == TOGETHER) {
          Mask all = group, need = 0;

          lanes_of(w.parked, [&](int l) {
            if (w.pc[l] == pc) all |= (Mask)1 << l;
          });
          if (i.guard >= 0) fail("a synchronizing instruction with a guard");
          const u64 *members = w.slot(i.members);

          lanes_of(all, [&](int l) { need |= (Mask)members[l] & w.alive; });
          if (need & ~all) { /* wait for them */
            w.run &= ~group;
            w.parked |= group;
            lanes_of(group, [&](int l) { w.pc[l] = pc; });
            break;
          }
          w.parked &= ~all;
          w.run |= all;
          group = all;
          i.f(w, i, group);
          pc++;
        } else {
          Mask m = group;

          if (i.guard >= 0) {
            const u64 *p = w.slot(i.guard);

            m = 0;
            for (int l = 0; l < 32; l++) m |= (Mask)((p[l] != 0) != i.negate) << l;
            m &= group;
          }
          if (i.kind == PLAIN) {
            if (m) i.f(w, i, m);
            pc++;
            if (i.polls && m && ++w.polled > 8) {
              w.polled = 0;
              w.yields = true;
              most = 0;
            }
          } else if (i.kind == BRANCH) {
            if (m == group) pc = i.target;
            else if (!m) pc++;
            else {
              lanes_of(group, [&](int l) { w.pc[l] = m >> l & 1 ? i.target : pc + 1; });
              steps++;
              break;
            }
          } else {
            lanes_of(group, [&](int l) { w.pc[l] = m >> l & 1 ? pc : pc + 1; });
            if (!m) {
              pc++;
              continue;
            }
            steps++;
            if (i.kind == EXIT) end_threads(w, m);
            else if (i.kind == BARRIER) {
              Block &b = *w.block;
              Mask ids = 0;

              w.run &= ~m;
              w.at_barrier |= m;
              lanes_of(m, [&](int l) {
                const unsigned id = (unsigned)w.slot(i.s[0])[l];

                if (id > 15) fail("a barrier beyond 15");
                w.barrier[l] = (int)id;
                b.expected[id] = i.s[1] >= 0 ? (unsigned)w.slot(i.s[1])[l] : 0;
                b.arrived[id]++;
                ids |= 1u << id;
              });
              check_barriers(b, ids);
            } else {
              Cluster &c = *w.block->cluster;

              if (i.kind == ARRIVE) {
                lanes_of(m, [&](int l) {
                  w.phase[l] = c.phase;
                  w.pc[l] = pc + 1;
                });
                c.arrived += (unsigned)__builtin_popcount(m);
                check_cluster(c);
              } else {
                lanes_of(m, [&](int l) {
                  if (c.phase > w.phase[l]) w.pc[l] = pc + 1;
                  else {
                    w.run &= ~((Mask)1 << l);
                    w.waiting |= (Mask)1 << l;
                  }
                });
              }
            }
            break;
          }
        }
        steps++;
        if (pc >= next || steps >= most || w.last_first) {
          lanes_of(group, [&](int l) { w.pc[l] = pc; });
          break;
        }
      }
    } catch (const std::string &what) {
      throw what + where(w, group ? __builtin_ctz(group) : 0, pc);
    }
  }
  return steps;
}

} // namespace

void emu_module_add(const char *ptx, size_t bytes)
{
  std::string text(ptx, strnlen(ptx, bytes));
  size_t at = 0;
  unsigned line = 1;

  modules().emplace_back();
  Module &m = modules().back();

  while (at < text.size()) {
    const size_t start = text.find_first_not_of(" \t\r\n", at);

    if (start == std::string::npos) break;
    line += (unsigned)std::count(text.begin() + (ptrdiff_t)at, text.begin() + (ptrdiff_t)start, '\n');
    at = start;
    if (text.compare(at, 2, "//") == 0 || starts(text.substr(at, 12), ".version") ||
        starts(text.substr(at, 12), ".target") || starts(text.substr(at, 16), ".address_size")) {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    /* to `;`, or to the brace that closes a body */
    size_t end = text.find_first_of("{;", at);

    if (end == std::string::npos) break;
    const std::string head = text.substr(at, end - at);
    const bool code = head.find(".entry") != std::string::npos || head.find(".func") != std::string::npos;
    std::string inside;
    const unsigned inside_line =
      line + (unsigned)std::count(text.begin() + (ptrdiff_t)at, text.begin() + (ptrdiff_t)end, '\n');

    if (text[end] == '{') {
      int depth = 0;
      size_t q = end;

      do {
        if (text[q] == '{') depth++;
        if (text[q] == '}') depth--;
        q = text.find_first_of("{}", q + 1);
      } while (depth && q != std::string::npos);
      q = depth ? text.size() : (q == std::string::npos ? text.rfind('}') : text.rfind('}', q - 1));
      inside = text.substr(end + 1, q - end - 1);
      end = q;
    }
    if (code) {
      const bool entry = head.find(".entry") != std::string::npos;
      const size_t after = head.find(entry ? ".entry" : ".func") + (entry ? 6 : 5);
      std::string rest = trimmed(head.substr(after)), results;

      if (rest[0] == '(') {
        results = rest.substr(1, rest.find(')') - 1);
        rest = trimmed(rest.substr(rest.find(')') + 1));
      }
      const size_t open = rest.find('('), close = rest.find(')');
      const std::string name = trimmed(rest.substr(0, std::min(open, rest.find_first_of(" \t\n"))));
      std::vector<Parameter> list =
        open == std::string::npos ? std::vector<Parameter>() : parameter_list(rest.substr(open + 1, close - open - 1));

      if (entry) {
        std::unique_ptr<EmuKernel> k(new EmuKernel);

        k->module = &m;
        k->name = name;
        k->body = inside;
        k->line = inside_line;
        k->parameters = list;
        k->parameter_bytes = list.empty() ? 0 : list.back().offset + list.back().bytes;
        const size_t most = rest.find(".maxntid");

        if (most != std::string::npos) {
          const std::vector<std::string> n = split(rest.substr(most + 8, rest.find('\n', most) - most - 8), ",");

          k->max_threads = 1;
          for (const std::string &t : n) k->max_threads *= std::max(1, std::atoi(t.c_str()));
        }
        m.kernels[name] = std::move(k);
      } else if (!inside.empty()) {
        Function f;

        f.body = inside;
        f.line = inside_line;
        f.results = parameter_list(results);
        f.parameters = list;
        m.functions[name] = f;
      }
    } else {
      const size_t equals = head.find('=');
      const Declared d = declared(head.substr(0, equals));

      if (head.find(".shared") != std::string::npos)
        m.shared[d.name] = {d.bytes, d.align, head.find(".extern") != std::string::npos};
      else if (head.find(".global") != std::string::npos || head.find(".const") != std::string::npos) {
        char *p = (char *)std::calloc(1, d.bytes + 64);

        p += 64 - (size_t)p % 64;
        if (!inside.empty()) {
          const std::vector<std::string> numbers = split(inside, ",");
          const size_t unit =
            std::max((size_t)1, numbers.size() && d.bytes % numbers.size() == 0 ? d.bytes / numbers.size() : (size_t)1);

          for (size_t q = 0; q < numbers.size() && (q + 1) * unit <= d.bytes; q++) {
            const std::string &t = numbers[q];
            const u64 x = starts(t, "0d") || starts(t, "0f") ? std::strtoull(t.c_str() + 2, nullptr, 16)
                                                             : (u64)std::strtoll(t.c_str(), nullptr, 0);

            std::memcpy(p + q * unit, &x, std::min(unit, (size_t)8));
          }
        }
        m.variables[d.name] = {p, d.bytes};
        variable_ranges().push_back({p, d.bytes});
      }
    }
    line += (unsigned)std::count(text.begin() + (ptrdiff_t)at, text.begin() + (ptrdiff_t)end, '\n');
    at = end + 1;
  }
}

EmuKernel *emu_kernel_find(const std::string &name)
{
  for (Module &m : modules()) {
    auto it = m.kernels.find(name);

    if (it != m.kernels.end()) return it->second.get();
  }
  return nullptr;
}
int emu_kernel_parameters(EmuKernel *k)
{
  return (int)k->parameters.size();
}
size_t emu_kernel_parameter_bytes(EmuKernel *k, int parameter)
{
  return k->parameters[(size_t)parameter].bytes;
}
size_t emu_kernel_static_shared(EmuKernel *k)
{
  try {
    read_kernel(*k);
  } catch (const std::string &) {
  }
  return k->shared_bytes;
}
int emu_kernel_max_threads(EmuKernel *k)
{
  return k->max_threads;
}
void *emu_variable_find(const std::string &name, size_t *bytes)
{
  for (Module &m : modules()) {
    auto it = m.variables.find(name);

    if (it != m.variables.end()) {
      *bytes = it->second.second;
      return it->second.first;
    }
  }
  return nullptr;
}

std::string emu_launch(EmuKernel *k, const unsigned grid[3], const unsigned block[3], const unsigned cluster[3],
                       size_t dynamic, void *const *arguments)
{
  try {
    Grid g;

    read_kernel(*k);
    g.kernel = k;
    g.dynamic = dynamic;
    g.dynamic_offset = (k->shared_bytes + 127) / 128 * 128;
    for (int a = 0; a < 3; a++) {
      g.grid[a] = grid[a];
      g.block[a] = block[a];
      g.cluster[a] = std::max(1u, cluster[a]);
    }
    if (g.cluster[1] != 1 || g.cluster[2] != 1) fail("clusters along the second or third axis are not known");
    if (g.grid[0] % g.cluster[0]) fail("a grid of blocks that clusters do not divide");
    g.parameters.resize(k->parameter_bytes + 16);
    for (size_t p = 0; p < k->parameters.size(); p++)
      std::memcpy(g.parameters.data() + k->parameters[p].offset, arguments[p], k->parameters[p].bytes);
    const unsigned threads = block[0] * block[1] * block[2], per = g.cluster[0];
    const u64 clusters = (u64)(grid[0] / per) * grid[1] * grid[2];

    std::list<std::unique_ptr<Cluster>> active, spare;
    u64 next = 0, idle = 0;
    bool polls = false; /* threads wait for what other blocks are to write */

    while (next < clusters || !active.empty()) {
      if (next < clusters && (active.empty() || ((idle >= 20 || polls) && active.size() < 132 * 2 / per))) {
        std::unique_ptr<Cluster> c;

        idle = 0;
        if (spare.empty()) c.reset(new Cluster);
        else {
          c = std::move(spare.front());
          spare.pop_front();
        }
        c->grid = &g;
        c->arrived = c->phase = 0;
        c->threads = threads * per;
        c->blocks.resize(per);
        for (unsigned q = 0; q < per; q++)
          if (!c->blocks[q]) c->blocks[q].reset(new Block);
        for (unsigned q = 0; q < per; q++) {
          Block &b = *c->blocks[q];

          b.cluster = c.get();
          b.rank = q;
          b.id[0] = (unsigned)(next % (grid[0] / per)) * per + q;
          b.id[1] = (unsigned)(next / (grid[0] / per) % grid[1]);
          b.id[2] = (unsigned)(next / (grid[0] / per) / grid[1]);
          b.threads = threads;
          std::memset(b.arrived, 0, sizeof b.arrived);
          std::memset(b.expected, 0, sizeof b.expected);
          b.shared.assign(g.dynamic_offset + dynamic, (char)0xff);
          b.bulk.clear();
          b.warps.resize((threads + 31) / 32);
          for (size_t w = 0; w < b.warps.size(); w++) {
            if (!b.warps[w]) b.warps[w].reset(new Warp);
            begin_warp(*b.warps[w], b, (int)w);
          }
        }
        next++;
        active.push_back(std::move(c));
      }
      for (auto it = active.begin(); it != active.end();) {
        Cluster &c = **it;
        bool works = false;
        long done = 0;

        for (auto &b : c.blocks) {
          for (auto &w : b->warps) {
            if (!w->run) continue;
            const long steps = run_warp(*w, 20000);

            w->last_first = (steps >= 20000 || w->yields) && !w->last_first;
            works = works || !w->yields;
            done += steps;
          }
        }
        if (!c.threads) {
          spare.push_back(std::move(*it));
          it = active.erase(it);
          idle = 0;
          continue;
        }
        polls = !works;
        if (!done) {
          for (auto &b : c.blocks)
            for (auto &w : b->warps)
              if (w->alive)
                fail("no thread of the block or cluster can go on" +
                     where(*w, __builtin_ctz(w->alive), w->pc[__builtin_ctz(w->alive)]));
        }
        ++it;
      }
      if (++idle > 100000) fail("it does not end");
    }
  } catch (const std::string &what) {
    return "kernel " + k->name + ": " + what;
  }
  return "";
}
