// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// conf_keys.h splits SMALLOC_CONF="key:value,key:value" into its items, and parses values that are
// no numbers. libsmalloc reads all keys (config/options.h), its other libraries only their own.
#ifndef SMALLOC_BASE_CONF_KEYS_H
#define SMALLOC_BASE_CONF_KEYS_H

#include "smalloc/base/text.h"

namespace smalloc {

/// Calls visit(item, key, value) for each item of `conf` that is not empty. The value is empty if
/// the item has no colon.
template <class Visit> void for_each_key(Text conf, Visit visit) {
  for (size_t start = 0; start < conf.size;) {
    size_t end = start, colon = conf.size;
    for (; end < conf.size && conf.data[end] != ','; end++)
      if (colon == conf.size && conf.data[end] == ':')
        colon = end;
    if (colon > end)
      colon = end;
    const size_t value = colon < end ? colon + 1 : end;
    if (end > start)
      visit(Text(conf.data + start, end - start), Text(conf.data + start, colon - start),
            Text(conf.data + value, end - value));
    start = end + 1;
  }
}

/// Parses the value of a switch. Leaves `on` as it is if `value` is none.
inline bool parse_switch(Text value, bool &on) {
  const bool is_on = value.is("on") || value.is("true") || value.is("1");
  if (!is_on && !value.is("off") && !value.is("false") && !value.is("0"))
    return false;
  on = is_on;
  return true;
}

/// Parses one of `names`, which are in the order of the enumeration. Leaves `choice` as it is if
/// `value` is none of them.
template <class Choice, size_t kCount>
bool parse_choice(Text value, const char *const (&names)[kCount], Choice &choice) {
  for (size_t i = 0; i < kCount; i++)
    if (value.is(names[i])) {
      choice = static_cast<Choice>(i);
      return true;
    }
  return false;
}

/// Copies a path or a name. Returns false if it is empty or too long.
template <size_t kCapacity> bool parse_name(Text value, char (&name)[kCapacity]) {
  if (value.size == 0 || value.size >= kCapacity)
    return false;
  memcpy(name, value.data, value.size);
  name[value.size] = 0;
  return true;
}

} // namespace smalloc
#endif
