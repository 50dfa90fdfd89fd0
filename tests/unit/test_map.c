/* Random programs of operations on share/base/map.h, against a plain array. Half of the keys share the low bits of
 * their hash, so that they meet in one run of slots. A map is emptied as a whole: that is what a program drops. */
#include "share/base/map.h"

#include "tests/unit/random_programs.h"

#define KEYS    600
#define STEPS   3000
#define ALIKE   63 /* the bits of the hash that colliding keys share */
#define CLEARED 80 /* steps between two times that the map is emptied, on average */

static struct map_key keys[KEYS];

/* Finds the keys: every second one collides with all others of those. */
static void make_keys(void)
{
    uint64_t next = 0;
    for (size_t i = 0; i < KEYS; i++)
        do {
            keys[i] = (struct map_key){next % 7, next / 7, next % 3};
            next++;
        } while (i % 2 == 0 && (map_hash(keys[i]) & ALIKE) != 0);
}

static void compare_all(struct random_program *program, const struct map *map, const uint32_t *numbers)
{
    size_t n = 0;
    for (size_t i = 0; i < KEYS; i++) {
        random_expect(program, map_find(map, keys[i]) == numbers[i], "the map has another number of a key");
        n += numbers[i] != MAP_ABSENT;
    }
    random_expect(program, map->n_entries == n, "the map counts another number of keys");
}

static void run(struct random_program *program)
{
    struct map map = {0};
    uint32_t numbers[KEYS];
    for (size_t i = 0; i < KEYS; i++)
        numbers[i] = MAP_ABSENT;
    for (program->step = 0; program->step < STEPS && !program->different; program->step++) {
        unsigned what = random_choice(program, CLEARED), key = random_choice(program, KEYS);
        if (what == 0) {
            if (map.n_entries == 0 || !random_drops(program)) {
                if (random_choice(program, 4) == 0)
                    map_release(&map);
                else
                    map_clear(&map);
            }
            for (size_t i = 0; i < KEYS; i++)
                numbers[i] = MAP_ABSENT;
            compare_all(program, &map, numbers);
        } else if (what < CLEARED / 2) {
            uint32_t *number = map_at(&map, keys[key]);
            random_expect(program, *number == numbers[key], "map_at gives another number");
            *number = numbers[key] = random_choice(program, 1000);
        } else {
            random_expect(program, map_find(&map, keys[key]) == numbers[key], "map_find gives another number");
        }
        if (program->step % 100 == 0)
            compare_all(program, &map, numbers);
    }
    compare_all(program, &map, numbers);
    map_release(&map);
}

int main(void)
{
    make_keys();
    return random_programs_run("map", 50, run);
}
