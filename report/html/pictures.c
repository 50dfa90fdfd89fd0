/* Holds the table of pictures. */
#include "report/html/pictures.h"

#include <inttypes.h>

const struct picture_kind picture_kinds[] = {
    {"timeline", "Timeline",
     "What each rank does over time, and its messages. Drag to move, hold Ctrl and turn the wheel to zoom, drag in the "
     "strip below to choose a time, double-click to see all.",
     true, picture_timeline},
    {"ranks", "Where the time of ranks goes", "A bar a rank, divided by what it spends its time on.", true,
     picture_ranks},
    {"matrix", "Who sends to whom", "Senders from top to bottom, receivers from left to right.", false, picture_matrix},
    {"map", "Nodes and sockets",
     "The outer ring has the nodes, the inner one their sockets; ribbons are the traffic between them.", false,
     picture_map},
    {"scatter", "Measured against modelled",
     "Each point is the time of a rank in messages; on the line a model says what was measured.", false,
     picture_scatter},
    {"sizes", "Sizes of messages", "Messages by size, in powers of two.", false, picture_sizes},
    {"path", "Critical path",
     "The calls that the length of the run is made of, by the stored replay: shortening anything else does not shorten "
     "it.",
     true, picture_path},
};
const size_t n_picture_kinds = sizeof picture_kinds / sizeof picture_kinds[0];

void picture_note_bins(struct picture *picture, const struct rank_bins *bins, const char *what)
{
    if (bins->width > 1)
        picture_note(picture, "Each %s stands for %" PRId64 " of the %" PRId64 " ranks.", what, bins->width,
                     bins->ranks);
}
