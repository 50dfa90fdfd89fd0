/* Regions with names, for mpistair: in which part of the program time is spent.
 *
 *     #include <mpistair_region.h>
 *
 *     mpistair_region_begin("solve");
 *     ...
 *     mpistair_region_end("solve");
 *
 * There is nothing to link. Where libmpistair.so is preloaded its functions are found when the program starts; where it
 * is not, a call is a load and a branch. For C and C++, with gcc, clang, and what compiles as they do.
 *
 * Regions belong to the calling thread and lie within each other. A name may be any text; what lies beyond 240 bytes is
 * cut. It is copied. Use few names, one a phase, not one an iteration: each time that a region is entered is kept as
 * well. A process has room for 2046 different ones.
 *
 *     mpistair_region_begin(name)   enters a region
 *     mpistair_region_end(name)     leaves the innermost region of that name, and those within it; NULL: the innermost
 *     mpistair_region_set(name)     leaves the region that was set before, and enters this one, within the same region
 *                                   around both: for phases that follow each other; NULL: enters none
 *     mpistair_region_mark(name)    notes a moment
 */
#ifndef MPISTAIR_REGION_H
#define MPISTAIR_REGION_H

#ifdef __cplusplus
extern "C" {
#endif

/* The reference to a function that may not exist goes through the table of global offsets: the linker resolves other
 * weak references of a program that is not position independent at once, to nothing. */
#if defined(__x86_64__) && !defined(__ILP32__)
#define MPISTAIR_REGION_FIND(function, symbol)                                                                         \
    __asm__(".weak " symbol "\n\tmovq " symbol "@GOTPCREL(%%rip), %0" : "=r"(function))
#elif defined(__aarch64__)
#define MPISTAIR_REGION_FIND(function, symbol)                                                                         \
    __asm__(".weak " symbol "\n\tadrp %0, :got:" symbol "\n\tldr %0, [%0, #:got_lo12:" symbol "]" : "=r"(function))
#endif

#ifdef MPISTAIR_REGION_FIND
#define MPISTAIR_REGION_CALL(call)                                                                                     \
    static __inline__ void mpistair_##call(const char *name)                                                           \
    {                                                                                                                  \
        void (*function)(const char *);                                                                                \
        MPISTAIR_REGION_FIND(function, "mpistair_v1_" #call);                                                          \
        if (function)                                                                                                  \
            function(name);                                                                                            \
    }
#else
#define MPISTAIR_REGION_CALL(call)                                                                                     \
    extern void mpistair_v1_##call(const char *name) __attribute__((__weak__));                                        \
    static __inline__ void mpistair_##call(const char *name)                                                           \
    {                                                                                                                  \
        if (mpistair_v1_##call)                                                                                        \
            mpistair_v1_##call(name);                                                                                  \
    }
#endif

MPISTAIR_REGION_CALL(region_begin)
MPISTAIR_REGION_CALL(region_end)
MPISTAIR_REGION_CALL(region_set)
MPISTAIR_REGION_CALL(region_mark)

#ifdef __cplusplus
}

#if __cplusplus >= 201103L
/* Leaves the region at the end of the scope, by whichever way. */
struct mpistair_region_scope {
    explicit mpistair_region_scope(const char *region) : name(region)
    {
        mpistair_region_begin(name);
    }
    ~mpistair_region_scope()
    {
        mpistair_region_end(name);
    }
    mpistair_region_scope(const mpistair_region_scope &) = delete;
    mpistair_region_scope &operator=(const mpistair_region_scope &) = delete;

  private:
    const char *name;
};
#endif
#endif

#endif
