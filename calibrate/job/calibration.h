/* The programs of a calibration, run one after the other, launch by launch. */
#ifndef MPISTAIR_CALIBRATE_CALIBRATION_H
#define MPISTAIR_CALIBRATE_CALIBRATION_H

#include <stdbool.h>

#include "share/base/error.h"
#include "calibrate/job/launcher.h"
#include "calibrate/samples/raw_file.h"
#include "calibrate/samples/notes.h"

/* How memory contention is measured. */
struct memory_request {
    const char *placements; /* borrowed: "model" or "all" */
    bool skip_beyond_peak;
    bool allow_cpu_copy;
};

/* What is measured of GPUs: nothing, besides all else, or nothing else. */
enum gpu_request { GPU_NOT, GPU_ALSO, GPU_ONLY };

struct calibration {
    const struct launcher *launcher; /* identified */
    double seconds;                  /* time of a launch, from the first start to the last end; of memory contention: of
                                      * its samples, about, 0: as it takes */
    unsigned launches;
    const char *shared_link;             /* borrowed: A-B,C-D, pairs of nodes whose ways share a link; NULL: none */
    enum gpu_request gpu;                /* not with memory */
    const char *gpu_paths;               /* borrowed: what of gpu to measure, a list; NULL: all (gpu_path.h) */
    bool cached;                         /* messages stay in the cache */
    const struct memory_request *memory; /* borrowed: memory contention, and nothing else; NULL: all else */
};

/* Runs the programs that raw does not hold yet, and adds their samples and notes to raw. The curves are needed; if
 * another program fails, that is reported on stderr and kept as a note `failed NAME: WHY`. A job that asks for GPUs
 * alone fails without one. Returns 0, or -1 with the reason: then raw holds what was measured until then. */
int calibration_run(const struct calibration *calibration, struct raw_file *raw, struct error *error);

/* What identifies a calibration: an interrupted one is continued only by a call that asks for the same. */

/* Returns lines `launcher WORDS`, `mpi NAME`, the options that change what is measured, MPISTAIR_PLACEMENT, and the
 * settings of MPI libraries in the environment (OMPI_MCA_*, UCX_*, ...), for text_list_release. */
struct text_list calibration_identity(const struct calibration *calibration);

#endif
