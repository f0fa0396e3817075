// What plan.json says of states and names, in words.

#ifndef HAP_CLI_PLAN_WORDS_H
#define HAP_CLI_PLAN_WORDS_H

#include "ir/base/tree.h"

// The call of an entry of `instructions` as traces name it: coll_all_reduce of
// coll_all_reduce_start.
hb_str plan_call(const hb_tree *instr);
// How an entry of `tensors` lies: "cut by heads 6 / 6"; "whole across machines, cut by … inside".
hb_str plan_state_words(hb_arena *a, const hb_tree *plan, const hb_tree *tensor);
// A text of states as the search prints them, "R S(1:h4@compute) -> S(2:h4@compute)", with words
// for what is known: "whole, cut by heads -> cut by heads".
hb_str plan_text_words(hb_arena *a, const hb_tree *plan, hb_str text);
// "transformer.h.3.mlp" as "transformer.h.*.mlp": numbers between dots.
hb_str plan_pattern(hb_arena *a, hb_str name);

#endif
