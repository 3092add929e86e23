# SPDX-License-Identifier: Apache-2.0
#
# Unit tests and fuzz targets; included by the top Makefile (BUILD, CPPFLAGS, WARNINGS, Q, say).
#
#     make unit          build and run every tests/unit/**/*_test.c
#     make unit UNIT=wire    only those with "wire" in their path
#     make unit-tsan     all of them under the thread sanitizer, in build/tsan
#     make fuzz-replay   build every *_fuzz.c, replay tests/corpus/<target>/, then fuzz each for
#                        FUZZ_SECONDS; FUZZ=wire as above. FUZZ_RUNS=10000000 fuzzes each for that
#                        many executions instead, however long they take
#
# A test or fuzz target is linked with what it needs of the executable that its folder belongs to: all
# of its sources but main.c are in an archive, from which the linker takes the objects that are called.
# What it needs beyond that it says in comments within its first lines (sources by their path, anything
# that begins with "-" goes to the linker):
#
#     /* LINK: tests/unit/supervisor/fake_children.c -lz */
#
# Everything here is built by clang with the address and undefined sanitizers. vmm/wire/wire_fuzz.c
# is target "wire" with the corpus tests/corpus/wire/.

UNIT         ?=
UNIT_JOBS    ?= 2
UNIT_SECONDS ?= 120
UNIT_SANITIZERS ?= address,undefined
FUZZ         ?=
FUZZ_JOBS    ?= 2
FUZZ_SECONDS ?= 10
FUZZ_RUNS    ?=
CLANG        ?= clang

# Clang's -Wconversion has -Wsign-conversion in it, gcc's has not.
SAN_CFLAGS   := -std=gnu17 -O1 -g -fno-omit-frame-pointer $(WARNINGS) -Wno-sign-conversion \
                -Wno-gnu-variable-sized-type-not-at-end \
                -fno-sanitize-recover=all
UNIT_CFLAGS  := $(SAN_CFLAGS) -fsanitize=$(UNIT_SANITIZERS)
FUZZ_CFLAGS  := $(SAN_CFLAGS) -fsanitize=fuzzer-no-link,address,undefined
UNIT_LINK    := $(UNIT_CFLAGS) -lcmocka
# What ends one target's fuzzing, and how long its process may take for it.
FUZZ_UNTIL   := $(if $(FUZZ_RUNS),-runs=$(FUZZ_RUNS),-max_total_time=$(FUZZ_SECONDS))
FUZZ_LIMIT   := $(if $(FUZZ_RUNS),86400,$(FUZZ_SECONDS) + 120)
FUZZ_LINK    := $(SAN_CFLAGS) -fsanitize=fuzzer,address,undefined
SAN_CPPFLAGS := $(CPPFLAGS) -I.
UNIT_ENV     := CMOCKA_MESSAGE_OUTPUT=TAP ASAN_OPTIONS=detect_stack_use_after_return=1 \
                UBSAN_OPTIONS=print_stacktrace=1

UNIT_SOURCES := $(shell find tests/unit -name '*_test.c' | LC_ALL=C sort)
FUZZ_SOURCES := $(shell find vmm guest-agent -name '*_fuzz.c' | LC_ALL=C sort)

# $(call links,FILE): the words of its LINK comments, which may go on over several lines.
links = $(shell awk '/^\/\* LINK:/ {on = 1; sub(/^\/\* LINK:/, "")} \
    on {last = sub(/\*\/.*/, ""); sub(/^ \*/, ""); print; if (last) on = 0} \
    NR == 40 {exit}' $(1))
fuzz_target = $(patsubst %_fuzz.c,%,$(notdir $(1)))

# The executable whose code SOURCE tests; base, wire, ipc and jail are in the extractor's.
executable_of = $(or $(strip $(foreach pair,supervisor:vmrun monitor:vmrun-monitor \
    scribe:vmrun-scribe guest-agent:vmrun-agent,$(if $(findstring \
    /$(firstword $(subst :, ,$(pair)))/,/$(1)),$(lastword $(subst :, ,$(pair)))))),vmrun-extractor)

# The sources of EXECUTABLE, and in the archive that base and jail are tested with all of them.
tested = $(sort $(filter-out %/main.c,$($(1)_SOURCES)) \
    $(if $(filter vmrun-extractor,$(1)),$(call folder,vmm/base) $(call folder,vmm/jail)))

# $(call ARCHIVE_RULE,EXECUTABLE,unit or fuzz)
define ARCHIVE_RULE
$(BUILD)/$(2)-obj/$(1).a: $(patsubst %.c,$(BUILD)/$(2)-obj/%.o,$(call tested,$(1))) \
                          tests/unit.mk vmm/sources.mk
	$(Q)rm -f $$@
	$(Q)$(AR) rcs $$@ $$(filter %.o,$$^)
endef
$(foreach kind,unit fuzz,$(foreach executable,$(EXECUTABLES) vmrun-agent,\
    $(eval $(call ARCHIVE_RULE,$(executable),$(kind)))))

# $(call TEST_RULE,SOURCE,BINARY,unit or fuzz,UNIT or FUZZ)
define TEST_RULE
$(2): $(patsubst %.c,$(BUILD)/$(3)-obj/%.o,$(1) $(filter-out -%,$(call links,$(1)))) \
      $(BUILD)/$(3)-obj/$(call executable_of,$(1)).a
	$$(call say,LINK,$$@)
	$(Q)mkdir -p $$(@D)
	$(Q)$$(CLANG) -o $$@ $$^ $$($(4)_LINK) $($(call executable_of,$(1))_LIBS) \
	    $(filter -%,$(call links,$(1)))
endef

unit_binary = $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(1))
fuzz_binary = $(BUILD)/fuzz/$(call fuzz_target,$(1))
# Those of LIST that have WORD in them; all without a WORD.
chosen = $(if $(1),$(foreach name,$(2),$(if $(findstring $(1),$(name)),$(name))),$(2))

UNIT_BINARIES := $(foreach source,$(UNIT_SOURCES),$(call unit_binary,$(source)))
FUZZ_BINARIES := $(foreach source,$(FUZZ_SOURCES),$(call fuzz_binary,$(source)))
UNIT_CHOSEN   := $(call chosen,$(UNIT),$(UNIT_BINARIES))
FUZZ_CHOSEN   := $(call chosen,$(FUZZ),$(FUZZ_BINARIES))

$(foreach source,$(UNIT_SOURCES),\
    $(eval $(call TEST_RULE,$(source),$(call unit_binary,$(source)),unit,UNIT)))
$(foreach source,$(FUZZ_SOURCES),\
    $(eval $(call TEST_RULE,$(source),$(call fuzz_binary,$(source)),fuzz,FUZZ)))

$(BUILD)/unit-obj/%.o: %.c
	$(call say,CC,$< (unit))
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(SAN_CPPFLAGS) $(UNIT_CFLAGS) -MMD -MP -c -o $@ $<

# libFuzzer's entry point has no prototype in any header.
$(BUILD)/fuzz-obj/%.o: %.c
	$(call say,CC,$< (fuzz))
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(SAN_CPPFLAGS) $(FUZZ_CFLAGS) $(if $(filter %_fuzz.c,$<),-Wno-missing-prototypes) \
	    -MMD -MP -c -o $@ $<

-include $(shell find $(BUILD)/unit-obj $(BUILD)/fuzz-obj -name '*.d' 2>/dev/null)

.PHONY: unit unit-tsan fuzz-build fuzz-replay
unit: $(UNIT_CHOSEN)
	$(Q)test -n "$(strip $^)" || { echo 'unit: no test matches "$(UNIT)"' >&2; exit 1; }
	$(Q)$(UNIT_ENV) prove --jobs $(UNIT_JOBS) --exec 'timeout -k 5 $(UNIT_SECONDS)' $^

unit-tsan:
	$(Q)$(MAKE) --no-print-directory $(or $(TSAN_GOAL),unit) BUILD=$(BUILD)/tsan \
	    UNIT_SANITIZERS=thread UNIT_SECONDS=600

fuzz-build: $(FUZZ_CHOSEN)

# New inputs go to build/, never into the kept corpus; what breaks a target is in build/fuzz/found/.
fuzz-replay: $(FUZZ_CHOSEN)
	$(Q)test -n "$(strip $^)" || { echo 'fuzz: no target matches "$(FUZZ)"' >&2; exit 1; }
	$(Q)mkdir -p $(BUILD)/fuzz/found $(BUILD)/fuzz/log
	$(Q)printf '%s\n' $(notdir $^) | xargs -P $(FUZZ_JOBS) -I '{}' sh -c ' \
	    mkdir -p "$(BUILD)/fuzz/new/{}" && test -d "tests/corpus/{}" || \
	        { echo "fuzz: {}: FAILED, no corpus in tests/corpus/{}" >&2; exit 1; }; \
	    log="$(BUILD)/fuzz/log/{}"; count=$$(ls "tests/corpus/{}" | wc -l); \
	    if timeout 300 "$(BUILD)/fuzz/{}" -runs=0 "tests/corpus/{}" >"$$log" 2>&1 && \
	        { test "$(FUZZ_RUNS)$(FUZZ_SECONDS)" = 0 || timeout $$(($(FUZZ_LIMIT))) \
	            "$(BUILD)/fuzz/{}" $(FUZZ_UNTIL) -timeout=10 -rss_limit_mb=1024 \
	            -print_final_stats=1 -artifact_prefix="$(BUILD)/fuzz/found/{}-" \
	            "$(BUILD)/fuzz/new/{}" "tests/corpus/{}" >>"$$log" 2>&1; }; then \
	        runs=$$(sed -n "s/^stat::number_of_executed_units: *//p" "$$log"); \
	        echo "fuzz: {}: ok, $$count corpus files, $${runs:-0} executions"; \
	    else \
	        echo "fuzz: {}: FAILED, see $$log" >&2; tail -n 40 "$$log" >&2; exit 1; \
	    fi'
