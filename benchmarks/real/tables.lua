-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
-- tables.lua is lua5.4.sh's workload: records, names and a tree, made and walked in a random
-- order. It prints nothing that depends on the order of a table's keys, which changes by run.
local count = tonumber(arg[1])
local state = 1
local function random(limit) -- 0 to limit - 1
  state = (state * 6364136223846793005 + 1442695040888963407)
  return (state >> 33) % limit
end

-- Records in an array, each of which names another: follow the names, change what is met.
local records = {}
for i = 1, count do
  records[i] = {id = i, next = random(count) + 1, weight = random(1000), label = "record " .. i}
end
local sum, at = 0, 1
for step = 1, 2 * count do
  local record = records[at]
  sum = sum + record.weight
  record.weight = record.weight + step % 7
  at = (record.next + step) % count + 1
end
print("records", sum)

-- The same by name.
local by_label = {}
for _, record in ipairs(records) do by_label[record.label] = record end
sum = 0
for _ = 1, count do
  sum = sum + by_label["record " .. random(count) + 1].weight
end
print("names", sum)

-- A search tree in the order of random keys.
local root
local function insert(key)
  local node = {key = key, times = 1}
  if not root then root = node return end
  local here = root
  while true do
    if key == here.key then here.times = here.times + 1 return end
    local side = key < here.key and "left" or "right"
    if not here[side] then here[side] = node return end
    here = here[side]
  end
end
for _ = 1, count // 4 do insert(random(count)) end
local function depth(node)
  if not node then return 0 end
  return 1 + math.max(depth(node.left), depth(node.right))
end
local function walk(node, rank)
  if not node then return rank, 0 end
  local rank_here, left = walk(node.left, rank)
  local rank_after, right = walk(node.right, rank_here + node.times)
  return rank_after, left + right + node.key * (rank_here % 16)
end
print("tree", depth(root), walk(root, 0))

-- Half of the records go, new ones come in their place.
for i = 1, count, 2 do
  by_label[records[i].label] = nil
  records[i] = {id = -i, text = ("%08x"):format(random(1 << 31)), weight = i}
end
table.sort(records, function(a, b)
  if a.weight ~= b.weight then return a.weight < b.weight end
  return a.id < b.id
end)
sum = 0
for i = 1, count do sum = (sum * 31 + records[i].id) % 1000000007 end
print("sorted", sum)
