// Plays games of stages that it reads (costmodel/slots.h), for tests/costmodel/slots_events.py:
//
//     game STAGES PORTS CARDS, for each port: SECONDS FROM TO (cards that it goes over, or -1)
//     stage ITEMS CARD (or -1), for each item: SECONDS PORT SEND MESSAGE NET SHOWN
//
// For each game a line: 1 if it ends, the total, when each item ends.

#include <stdio.h>
#include <stdlib.h>

#include "costmodel/slots.h"

static int number(void)
{
    int n = 0;
    if (scanf("%d", &n) != 1 || n < -1) exit(2);
    return n;
}

static double seconds(void)
{
    double x = 0;
    if (scanf("%lf", &x) != 1 || x < 0) exit(2);
    return x;
}

static void word(const char *want)
{
    char text[8] = "";
    if (scanf("%7s", text) != 1 || text[0] != want[0]) exit(2);
}

static void read_stage(hb_arena *a, cost_stage *s)
{
    word("stage");
    s->n = number();
    s->card = number();
    cost_item *item = HB_ARRAY(a, cost_item, s->n + 1);
    s->end = HB_ARRAY(a, double, s->n + 1);
    for (int i = 0; i < s->n; i++) {
        item[i].sec = seconds();
        item[i].port = number();
        item[i].send = number() != 0;
        item[i].message = number();
        item[i].net = (float)seconds();
        item[i].shown = (float)seconds();
    }
    s->item = item;
}

int main(void)
{
    char text[8];
    while (scanf("%7s", text) == 1) {
        hb_arena *a = hb_arena_new();
        int n = number(), n_ports = number(), n_cards = number(), at_stage, at_item;
        cost_port *port = HB_ARRAY(a, cost_port, n_ports + 1);
        double total;
        for (int i = 0; i < n_ports; i++) {
            port[i].sec = seconds();
            port[i].from = number();
            port[i].to = number();
        }
        cost_stage *stage = HB_ARRAY(a, cost_stage, n);
        for (int s = 0; s < n; s++)
            read_stage(a, &stage[s]);
        bool ends =
            cost_play_stages(a, n, stage, n_ports, port, n_cards, &total, &at_stage, &at_item);
        printf("%d %.17g", ends, total);
        for (int s = 0; s < n; s++)
            for (int i = 0; i < stage[s].n && ends; i++)
                printf(" %.17g", stage[s].end[i]);
        putchar('\n');
        hb_arena_free(a);
    }
    return 0;
}
