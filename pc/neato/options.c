/*
  The options of PCNEATO: one line of the table for each.
*/
#include "neato.h"

const char *const PCNeatoAxes[] = {"auto", "x", "y", "z", "PCNeatoAxis", "PCNEATO_AXIS_", NULL};
const char *const PCNeatoMethods[] = {
  "auto", "scan", "cr", "pscheme", "dc", "thomas", "PCNeatoMethod", "PCNEATO_METHOD_", NULL};
const char *const PCNeatoVariants[] = {"auto",           "rearranged",       "plain", "parallel", "sequential",
                                       "PCNeatoVariant", "PCNEATO_VARIANT_", NULL};
const char *const PCNeatoMemories[] = {"auto", "shared", "global", "PCNeatoMemory", "PCNEATO_MEMORY_", NULL};
const char *const PCNeatoCouplings[] = {"auto", "neighbour", "reduced", "PCNeatoCoupling", "PCNEATO_COUPLING_", NULL};
const char *const PCNeatoTransports[] = {"auto", "mpi", "nccl", "host", "PCNeatoTransport", "PCNEATO_TRANSPORT_", NULL};
const char *const PCNeatoBackends[] = {"auto", "cpu", "cuda", "PCNeatoBackend", "PCNEATO_BACKEND_", NULL};
const char *const PCNeatoPrecisions[] = {"double", "single", "mixed", "PCNeatoPrecision", "PCNEATO_PRECISION_", NULL};

#define AT(field)     offsetof(PC_Neato, field)
#define METHODS(name) BCR_OPTION_METHODS(PCNeato, name)

/* in the order of -help */
/* clang-format off */
static const BCROption table[] = {
  {"axis", "Axis of the lines", BCR_OPTION_ENUM, AT(axis), 0, PCNeatoAxes, PCNEATO_AXIS_AUTO, METHODS(Axis)},
  {"method", "How a line is solved", BCR_OPTION_ENUM, AT(method), 0, PCNeatoMethods, PCNEATO_METHOD_AUTO,
   METHODS(Method)},
  {"variant", "Form of pscheme (rearranged, plain) or dc (parallel, sequential)", BCR_OPTION_ENUM, AT(variant), 0,
   PCNeatoVariants, PCNEATO_VARIANT_AUTO, METHODS(Variant)},
  {"parts", "Parts of a line in pscheme and dc, 0: automatic", BCR_OPTION_INT, AT(parts), 0, NULL, 0, METHODS(Parts),
   .why = "give 1 or more, or 0 for the automatic choice"},
  {"memory", "Memory of a GPU that cr works in", BCR_OPTION_ENUM, AT(memory), 0, PCNeatoMemories, PCNEATO_MEMORY_AUTO,
   METHODS(Memory)},
  {"coupling", "How ranks that share a line are coupled", BCR_OPTION_ENUM, AT(coupling), 0, PCNeatoCouplings,
   PCNEATO_COUPLING_AUTO, METHODS(Coupling)},
  {"transport", "How data move between ranks", BCR_OPTION_ENUM, AT(transport), 0, PCNeatoTransports,
   PCNEATO_TRANSPORT_AUTO, METHODS(Transport)},
  {"backend", "Where the work is done", BCR_OPTION_ENUM, AT(backend), 0, PCNeatoBackends, PCNEATO_BACKEND_AUTO,
   METHODS(Backend)},
  {"precision", "Precision of the work inside", BCR_OPTION_ENUM, AT(precision), 0, PCNeatoPrecisions,
   sizeof(PetscReal) < sizeof(double) ? PCNEATO_PRECISION_SINGLE : PCNEATO_PRECISION_DOUBLE, METHODS(Precision)},
  BCR_PLACE_OPTIONS(PC_Neato, PCNeato),
  BCR_OTHERWISE_OPTION(PC_Neato, PCNeato),
  {"isa", "Instruction set, or the next lower one that the machine has (developer)", BCR_OPTION_ENUM, AT(isa),
   BCR_OPTION_RANK, .words = BCRInstructionSets}
};
/* clang-format on */

static const BCRMethodEntry methods[] = {
  {"PCNeatoSetFromOptions", (BCRMethod)BCROptionsRead}
};

const BCROptions BCRNeatoOptions = {"PCNEATO",
                                    "-pc_neato_",
                                    "NEATO options",
                                    PETSC_STATIC_ARRAY_LENGTH(table),
                                    PETSC_STATIC_ARRAY_LENGTH(methods),
                                    table,
                                    methods,
                                    0};
