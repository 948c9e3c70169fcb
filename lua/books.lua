-- books: what several scripts must agree on; put in front of each that says USES books.

-- The number that s writes, or nil unless s is a plain non-negative decimal that a double
-- holds exactly: "007", " 5 ", "1e2" and "5.5" count as no number.
local function plain(s)
  if type(s) == 'string' and #s <= 15 and (s == '0' or string.find(s, '^[1-9]%d*$')) then
    return tonumber(s)
  end
end

-- Whether stock = max(0, total - buyers), with as many tickets as buyers. A missing key
-- or one of another type does not balance.
local function balanced(total, stock, buyers, tickets)
  local held, named = redis.pcall('SCARD', buyers), redis.pcall('HLEN', tickets)
  return total and stock and type(held) == 'number' and held == named and stock == math.max(0, total - held)
end
