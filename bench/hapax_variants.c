/* SPDX-License-Identifier: MIT */
/* MutexBench on variants of the hapax locks; see hapax_variant.c. */
#include "workload.h"

#define VARIANT(id, name, with) extern const struct bench_subject hapax_variant_##id;
#include "hapax_variants.def"
#undef VARIANT

static const struct bench_subject *const subjects[] = {
#define VARIANT(id, name, with) &hapax_variant_##id,
#include "hapax_variants.def"
#undef VARIANT
	NULL,
};

const struct workload workload_hapax_variants = {
	.name = "hapax-variants",
	.about = "one central lock: hapax and hapax-vw, each with one thing changed",
	.source = "Hapax paper, section 4, appendices C and F",
	.unit = "ops/s",
	.run = mutex_run,
	.subjects = subjects,
	.reference = "vw",
	.cs = 1,
	.times_waits = true,
};
