# SPDX-License-Identifier: Apache-2.0
#
# The host's executables as a sanitizer builds them; included by the top Makefile.
#
#     make asan          address and undefined behaviour: build/asan/bin
#     make tsan          threads: build/tsan/bin
#
# The hostile tests run against them: VMRUN_BIN=build/asan/bin bats tests/hostile (in the lab).

SANITIZERS       := asan tsan
asan_FSANITIZE   := address,undefined
tsan_FSANITIZE   := thread

# The same Makefile once more with other flags. tests/hostile/sanitizer.c takes the place of
# ASAN_OPTIONS: the children have an empty environment.
define SANITIZER_RULE
$(1): $(BUILD)/$(1)/sanitizer.o
	$(Q)$$(MAKE) --no-print-directory executables CC=$$(CLANG) HARDEN=-fno-strict-aliasing \
	    BIN=$(BUILD)/$(1)/bin OBJ=$(BUILD)/$(1)/obj \
	    CPPFLAGS='$$(CPPFLAGS) -DVMRUN_SANITIZED' CFLAGS='$$(SAN_CFLAGS) -fsanitize=$$($(1)_FSANITIZE)' \
	    LDFLAGS='-pthread -Wl,--wrap=jail_seal $(BUILD)/$(1)/sanitizer.o'
	$(Q)ln -sfn ../guest $(BUILD)/$(1)/guest && ln -sfn ../kernel $(BUILD)/$(1)/kernel

$(BUILD)/$(1)/sanitizer.o: tests/hostile/sanitizer.c
	$(Q)mkdir -p $$(@D)
	$(Q)rm -f $(BUILD)/$(1)/bin/*
	$(Q)$$(CLANG) -Ivmm $$(SAN_CFLAGS) -fsanitize=$$($(1)_FSANITIZE) -c -o $$@ $$<
endef
$(foreach sanitizer,$(SANITIZERS),$(eval $(call SANITIZER_RULE,$(sanitizer))))

.PHONY: $(SANITIZERS)

# ---- how much of a parser its kept corpus reaches ---------------------------------------------------
#
#     make fuzz-coverage FUZZ=wire    lines of each source that tests/corpus/wire/ runs through; needs Debian's
#                                    llvm, which tools/deps does not install

COVERAGE_FLAGS := -std=gnu17 -O0 -g -Wno-missing-prototypes -fprofile-instr-generate -fcoverage-mapping

COVERAGE_FILTER := .data[0].files[] | select(.filename | test("_fuzz.c|/base/|tests/") | not) | \
    [.filename, .summary.lines.covered, .summary.lines.count, (.summary.lines.percent | floor)] | @tsv

$(BUILD)/coverage/%: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)source=$(filter %/$*_fuzz.c,$(FUZZ_SOURCES)); \
	    $(CLANG) $(SAN_CPPFLAGS) $(COVERAGE_FLAGS) -fsanitize=fuzzer -o $@ $$source \
	        $(call links,$(filter %/$*_fuzz.c,$(FUZZ_SOURCES))) && \
	    LLVM_PROFILE_FILE=$@.raw $@ -runs=0 tests/corpus/$* >$@.log 2>&1 && \
	    llvm-profdata merge -o $@.data $@.raw && \
	    printf '%s: %s seeds\n' $* "$$(ls tests/corpus/$* | wc -l)" && \
	    llvm-cov export -summary-only -instr-profile=$@.data $@ | \
	    jq -r '$(COVERAGE_FILTER)' | sed 's|^.*/vmm/|    vmm/|'

fuzz-coverage: $(foreach target,$(notdir $(FUZZ_CHOSEN)),$(BUILD)/coverage/$(target))

FORCE:
.PHONY: fuzz-coverage FORCE
