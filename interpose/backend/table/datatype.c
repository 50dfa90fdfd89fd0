/* Predefined datatypes are never freed, so their sizes are asked for once and looked up by hash afterwards. See
 * datatype.h. */
#include "interpose/backend/table/datatype.h"

struct predefined_datatype predefined_datatypes[PREDEFINED_SLOTS];

uint64_t datatype_ask(MPI_Datatype datatype)
{
    MPI_Count bytes = 0;
    if (datatype == MPI_DATATYPE_NULL || PMPI(Type_size_x)(datatype, &bytes) != MPI_SUCCESS || bytes < 0)
        return 0;
    return (uint64_t)bytes;
}

void datatype_init(void)
{
    const MPI_Datatype predefined[] = {
        MPI_CHAR,
        MPI_SIGNED_CHAR,
        MPI_UNSIGNED_CHAR,
        MPI_BYTE,
        MPI_PACKED,
        MPI_WCHAR,
        MPI_SHORT,
        MPI_UNSIGNED_SHORT,
        MPI_INT,
        MPI_UNSIGNED,
        MPI_LONG,
        MPI_UNSIGNED_LONG,
        MPI_LONG_LONG,
        MPI_UNSIGNED_LONG_LONG,
        MPI_FLOAT,
        MPI_DOUBLE,
        MPI_LONG_DOUBLE,
        MPI_INT8_T,
        MPI_INT16_T,
        MPI_INT32_T,
        MPI_INT64_T,
        MPI_UINT8_T,
        MPI_UINT16_T,
        MPI_UINT32_T,
        MPI_UINT64_T,
        MPI_C_BOOL,
        MPI_C_FLOAT_COMPLEX,
        MPI_C_DOUBLE_COMPLEX,
        MPI_AINT,
        MPI_COUNT,
        MPI_OFFSET,
        MPI_FLOAT_INT,
        MPI_DOUBLE_INT,
        MPI_2INT,
        MPI_CHARACTER,
        MPI_LOGICAL,
        MPI_INTEGER,
        MPI_REAL,
        MPI_DOUBLE_PRECISION,
        MPI_COMPLEX,
        MPI_DOUBLE_COMPLEX,
        MPI_INTEGER8,
        MPI_REAL8,
    };
    for (size_t i = 0; i < sizeof predefined / sizeof *predefined; i++) {
        uint64_t key = HANDLE_KEY(predefined[i]);
        struct predefined_datatype *slot = &predefined_datatypes[datatype_slot(key)];
        if (!slot->taken && predefined[i] != MPI_DATATYPE_NULL)
            *slot = (struct predefined_datatype){key, datatype_ask(predefined[i]), 1};
    }
}
