/* The three bindings of Fortran as one: USE_MPIF_H, USE_MPI or USE_MPI_F08 is defined.
 *
 * The sources are valid in free and in fixed form (statements from column 7, no continued lines): the program of mpif.h
 * is compiled in fixed form. CALL(name) calls MPI_name and notes name, file and line; CALL_AS where the generic name
 * stands for another function of C. TRY notes the call only when matrix_found is called: a test or probe may find nothing.
 * The preprocessor is that of Fortran, which replaces in quotes and joins at an empty comment. */
#ifdef USE_MPI_F08
#define USE_BINDING use mpi_f08
#define REQUEST type(MPI_Request)
#define MESSAGE type(MPI_Message)
#define DATATYPE type(MPI_Datatype)
#define STATUS(name) type(MPI_Status) :: name
#define STATUSES(name, n) type(MPI_Status) :: name(n)
#define SOURCE_OF(status) status%MPI_SOURCE
#define TAG_OF(status) status%MPI_TAG
#define DETACHED type(c_ptr)
#else
#ifdef USE_MPI
#define USE_BINDING use mpi
#endif
#define REQUEST integer
#define MESSAGE integer
#define DATATYPE integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer :: name(MPI_STATUS_SIZE, n)
#define SOURCE_OF(status) status(MPI_SOURCE)
#define TAG_OF(status) status(MPI_TAG)
#define DETACHED integer(MPI_ADDRESS_KIND)
#endif
#ifdef USE_MPIF_H
#define USE_BINDING
#define INCLUDE_BINDING include 'mpif.h'
#else
#define INCLUDE_BINDING
#endif

/* MPICH 4.0.2 declares it so in use mpi; MPI wants LOGICAL. */
#ifdef MATRIX_HAS_INTEGER_PARRIVED
#define PARRIVED_FLAG integer
#else
#define PARRIVED_FLAG logical
#endif

#define CALL(name) call matrix_did('name', __FILE__, __LINE__); call MPI_/**/name
#define CALL_AS(function, name) call matrix_did('function', __FILE__, __LINE__); call MPI_/**/name
#define TRY(name) call matrix_tried('name', __FILE__, __LINE__); call MPI_/**/name
#define WORLD MPI_COMM_WORLD
