/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.h: where things are in the agent's own root, the initramfs (see mkinitramfs). The task
 * never sees these paths: it lives below PLACE_ROOT, which is its "/".
 */
#ifndef AGENT_PLACES_H
#define AGENT_PLACES_H

#define PLACE_CGROUP  "/cgroup"
#define PLACE_SCRATCH "/scratch"
#define PLACE_IMAGE   "/image" /* only with an overlay: the image, its lower layer */
#define PLACE_ROOT    "/root"  /* becomes "/" of the task, in the task's mount namespace only */

#define PLACE_TASK_CGROUP   PLACE_CGROUP "/task"
#define PLACE_UNPACK_CGROUP PLACE_CGROUP "/unpack"
#define PLACE_SCRATCH_TASK  PLACE_SCRATCH "/task"
#define PLACE_SCRATCH_TMP   PLACE_SCRATCH "/tmp"
#define PLACE_SCRATCH_UPPER PLACE_SCRATCH "/upper"
#define PLACE_SCRATCH_WORK  PLACE_SCRATCH "/work"

#endif
