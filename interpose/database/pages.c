/* A table is a tree of pages (b-tree) whose leaves have the rows. As rows come in the order of their ids or keys, a
 * page that is full is never looked at again: it gets the next number in the file, and its parent a cell with that
 * number and the last key below it. So of each tree one page a level is in memory. At the end the uppermost page takes
 * the place of the empty root that SQLite has made.
 *
 * A page that is not a leaf has one child more than cells, the last one by itself. SQLite takes a page without cells
 * for damage, so that where a page is full its last cell makes room: of one that is not a leaf it becomes the cell of
 * the parent, with its child as the last one; of a leaf of a table WITHOUT ROWID, whose rows do not stand twice, it
 * moves to the parent as a whole. What comes next begins the next page. */
#include "interpose/database/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/memory.h"

enum {
    PAGE_BYTES = 4096,
    LEAF_HEADER_BYTES = 8,
    INNER_HEADER_BYTES = 12,
    LEVELS_MOST = 12,
    CELL_MOST = 1000, /* below the size from which SQLite keeps a part elsewhere */
    COLUMNS_MOST = 32,
    PAGES_BUFFERED = 64,
    LOCK_PAGE = 0x40000000 / PAGE_BYTES + 1, /* has the bytes that processes lock, and nothing else */
};

enum page_type { INNER_OF_INDEX = 2, INNER_OF_TABLE = 5, LEAF_OF_INDEX = 10, LEAF_OF_TABLE = 13 };

struct page {
    uint8_t bytes[PAGE_BYTES];
    size_t n_cells;
    size_t content; /* where its cells begin, from the end downwards */
    size_t last_bytes;
};

struct tree {
    const struct pages_table *table;
    uint32_t root;
    uint64_t n_rows;
    struct page *levels[LEVELS_MOST]; /* [n_levels] the leaf first */
    size_t n_levels;
};

struct pages {
    int file;
    int failure; /* errno value */
    uint32_t next;
    size_t n_buffered; /* pages before next that are not in the file yet */
    uint8_t buffer[PAGES_BUFFERED][PAGE_BYTES];
    struct tree trees[PAGES_TABLES_MOST];
    size_t n_trees;
};

static void put_16(uint8_t *to, size_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

static void put_32(uint8_t *to, uint32_t value)
{
    put_16(to, value >> 16);
    put_16(to + 2, value & 0xffff);
}

/* Returns how many bytes were put; the value is below 2^56. */
static size_t put_varint(uint8_t *to, uint64_t value)
{
    size_t n = 1;
    for (uint64_t rest = value >> 7; rest > 0; rest >>= 7)
        n++;
    for (size_t i = n; i-- > 0; value >>= 7)
        to[i] = (uint8_t)((value & 0x7f) | (i + 1 < n ? 0x80 : 0));
    return n;
}

static void write_at(struct pages *pages, const void *bytes, size_t n, off_t at)
{
    for (const uint8_t *from = bytes; n > 0 && pages->failure == 0;) {
        ssize_t written = pwrite(pages->file, from, n, at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            pages->failure = written < 0 ? errno : ENOSPC;
            return;
        }
        from += written;
        at += written;
        n -= (size_t)written;
    }
}

static off_t place_of(uint32_t page)
{
    return (off_t)(page - 1) * PAGE_BYTES;
}

static void flush(struct pages *pages)
{
    write_at(pages, pages->buffer, pages->n_buffered * PAGE_BYTES, place_of(pages->next - (uint32_t)pages->n_buffered));
    pages->n_buffered = 0;
}

/* Gives the page the next number. */
static uint32_t append_page(struct pages *pages, const uint8_t bytes[PAGE_BYTES])
{
    static const uint8_t nothing[PAGE_BYTES];
    if (pages->next == LOCK_PAGE && bytes != nothing)
        append_page(pages, nothing);
    if (pages->n_buffered == PAGES_BUFFERED)
        flush(pages);
    memcpy(pages->buffer[pages->n_buffered++], bytes, PAGE_BYTES);
    return pages->next++;
}

static size_t header_bytes(size_t level)
{
    return level == 0 ? LEAF_HEADER_BYTES : INNER_HEADER_BYTES;
}

static void page_clear(struct page *page)
{
    memset(page->bytes, 0, sizeof page->bytes);
    page->n_cells = 0;
    page->content = PAGE_BYTES;
}

static struct page *page_of(struct tree *tree, size_t level)
{
    if (level == tree->n_levels) {
        tree->levels[level] = xcalloc(1, sizeof *tree->levels[level]);
        page_clear(tree->levels[level]);
        tree->n_levels++;
    }
    return tree->levels[level];
}

/* Puts the head before the cells; child is the last one of a page that is no leaf. */
static void complete(const struct tree *tree, size_t level, uint32_t child)
{
    struct page *page = tree->levels[level];
    page->bytes[0] = level == 0 ? (tree->table->is_keyed ? LEAF_OF_INDEX : LEAF_OF_TABLE)
                                : (tree->table->is_keyed ? INNER_OF_INDEX : INNER_OF_TABLE);
    put_16(page->bytes + 3, page->n_cells);
    put_16(page->bytes + 5, page->content);
    if (level > 0)
        put_32(page->bytes + 8, child);
}

static void add_cell(struct pages *pages, struct tree *tree, size_t level, const uint8_t *cell, size_t bytes);

/* Writes the full page of a level and begins it anew; its parent gets a cell with its number and the last key. */
static void end_page(struct pages *pages, struct tree *tree, size_t level)
{
    struct page *page = tree->levels[level];
    uint8_t up[CELL_MOST + 16];
    size_t bytes = sizeof(uint32_t);
    uint32_t child = 0;
    if (level == 0 && !tree->table->is_keyed) {
        bytes += put_varint(up + bytes, tree->n_rows);
    } else {
        size_t skipped = level > 0 ? sizeof(uint32_t) : 0;
        const uint8_t *last = page->bytes + page->content;
        memcpy(up + bytes, last + skipped, page->last_bytes - skipped);
        bytes += page->last_bytes - skipped;
        if (level > 0)
            child = (uint32_t)last[0] << 24 | (uint32_t)last[1] << 16 | (uint32_t)last[2] << 8 | last[3];
        memset(page->bytes + page->content, 0, page->last_bytes);
        page->content += page->last_bytes;
        put_16(page->bytes + header_bytes(level) + 2 * --page->n_cells, 0);
    }
    complete(tree, level, child);
    put_32(up, append_page(pages, page->bytes));
    page_clear(page);
    add_cell(pages, tree, level + 1, up, bytes);
}

static void add_cell(struct pages *pages, struct tree *tree, size_t level, const uint8_t *cell, size_t bytes)
{
    struct page *page = page_of(tree, level);
    if (header_bytes(level) + 2 * (page->n_cells + 1) + bytes > page->content)
        end_page(pages, tree, level);
    page->content -= bytes;
    page->last_bytes = bytes;
    memcpy(page->bytes + page->content, cell, bytes);
    put_16(page->bytes + header_bytes(level) + 2 * page->n_cells++, page->content);
}

/* Writes what is left of a tree, the uppermost page to its root. */
static void end_tree(struct pages *pages, struct tree *tree)
{
    uint32_t child = 0;
    for (size_t level = 0; level < tree->n_levels; level++) {
        complete(tree, level, child);
        if (level + 1 < tree->n_levels)
            child = append_page(pages, tree->levels[level]->bytes);
        else
            write_at(pages, tree->levels[level]->bytes, PAGE_BYTES, place_of(tree->root));
    }
}

/* Puts a number in the form that takes least room, and its type. Returns how many bytes it takes. */
static size_t put_number(uint8_t *to, int64_t value, uint8_t *type)
{
    static const uint8_t bytes_of_type[] = {0, 1, 2, 3, 4, 6, 8};
    if (value == PAGES_NULL || value == 0 || value == 1) {
        *type = value == PAGES_NULL ? 0 : (uint8_t)(8 + value);
        return 0;
    }
    uint64_t magnitude = (uint64_t)(value < 0 ? ~value : value);
    *type = (uint8_t)(1 + (magnitude > 0x7f) + (magnitude > 0x7fff) + (magnitude > 0x7fffff) +
                      (magnitude > 0x7fffffff) + (magnitude > UINT64_C(0x7fffffffffff)));
    size_t bytes = bytes_of_type[*type];
    uint64_t rest = __builtin_bswap64((uint64_t)value << (64 - 8 * bytes));
    memcpy(to, &rest, sizeof rest);
    return bytes;
}

static void add_row(struct pages *pages, struct tree *tree, const int64_t *values)
{
    const struct pages_table *table = tree->table;
    uint8_t types[2 * COLUMNS_MOST + 1], body[CELL_MOST], cell[CELL_MOST];
    size_t n_types = 1, n_body = 0, n_cell = 0;
    for (size_t i = 0; i < table->columns; i++) {
        const char *text = table->text != NULL ? table->text((int)i, values[i]) : NULL;
        if (text == NULL) {
            n_body += put_number(body + n_body, values[i], &types[n_types++]);
            continue;
        }
        size_t length = strlen(text);
        n_types += put_varint(types + n_types, 13 + 2 * length);
        memcpy(body + n_body, text, length);
        n_body += length;
    }
    types[0] = (uint8_t)n_types;
    tree->n_rows++;
    n_cell += put_varint(cell, n_types + n_body);
    if (!tree->table->is_keyed)
        n_cell += put_varint(cell + n_cell, tree->n_rows);
    memcpy(cell + n_cell, types, n_types);
    memcpy(cell + n_cell + n_types, body, n_body);
    /* A row with this number would be the first of the next page: the one before is the last of the full one. */
    tree->n_rows--;
    add_cell(pages, tree, 0, cell, n_cell + n_types + n_body);
    tree->n_rows++;
}

void pages_add(struct pages *pages, size_t table, const int64_t *values, size_t n_values)
{
    struct tree *tree = &pages->trees[table];
    for (size_t i = 0; i < n_values && pages->failure == 0; i += tree->table->columns)
        add_row(pages, tree, values + i);
}

int pages_failure(const struct pages *pages)
{
    return pages->failure;
}

int pages_close(struct pages *pages)
{
    for (size_t i = 0; i < pages->n_trees; i++) {
        struct tree *tree = &pages->trees[i];
        end_tree(pages, tree);
        for (size_t level = 0; level < tree->n_levels; level++)
            free(tree->levels[level]);
    }
    flush(pages);
    uint8_t n_pages[4];
    put_32(n_pages, pages->next - 1);
    write_at(pages, n_pages, sizeof n_pages, 28);
    if (close(pages->file) != 0 && pages->failure == 0)
        pages->failure = errno;
    int failure = pages->failure;
    free(pages);
    return failure;
}

/* Returns the whole number that a query reads, -1: none. */
static int64_t read_number(sqlite3 *database, const char *sql, const char *name)
{
    sqlite3_stmt *statement = NULL;
    int64_t number = -1;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK &&
        (name == NULL || sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC) == SQLITE_OK) &&
        sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

struct pages *pages_open(sqlite3 *database, const char *path, const struct pages_table *tables, size_t n_tables)
{
    struct pages *pages = xcalloc(1, sizeof *pages);
    int64_t n_pages = read_number(database, "PRAGMA page_count", NULL);
    bool is_known = n_pages > 0 && read_number(database, "PRAGMA page_size", NULL) == PAGE_BYTES &&
                    read_number(database, "PRAGMA auto_vacuum", NULL) == 0;
    for (size_t i = 0; i < n_tables && is_known; i++) {
        int64_t root = read_number(database, "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?",
                                   tables[i].name);
        pages->trees[i] = (struct tree){.table = &tables[i], .root = (uint32_t)root};
        is_known = root > 1;
    }
    pages->n_trees = n_tables;
    pages->next = (uint32_t)n_pages + 1;
    pages->file = is_known ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    if (pages->file >= 0)
        return pages;
    errno = is_known ? errno : 0;
    free(pages);
    return NULL;
}
