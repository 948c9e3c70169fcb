package obs

import (
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Accepted is the code under which acceptances are counted.
const Accepted = accepted

// Counts are purchases by the code they ended in, and by how long they took: Times has a slot
// for each quarter of a power of two in µs. Those of several processes add up.
type Counts struct {
	Codes map[seckill.Code]uint64 `json:"codes"`
	Times map[int]uint64          `json:"times"`
}

// Requests is how many purchases there were.
func (c Counts) Requests() (n uint64) {
	for _, count := range c.Codes {
		n += count
	}
	return n
}

// Plus adds two counts up.
func (c Counts) Plus(d Counts) Counts {
	return Counts{Codes: plus(c.Codes, d.Codes), Times: plus(c.Times, d.Times)}
}

// Since is what was counted after an earlier look. Counts that went back began anew.
func (c Counts) Since(earlier Counts) Counts {
	if c.Requests() < earlier.Requests() {
		return c
	}
	return Counts{Codes: minus(c.Codes, earlier.Codes), Times: minus(c.Times, earlier.Times)}
}

func plus[K comparable](a, b map[K]uint64) map[K]uint64 {
	sum := make(map[K]uint64, len(a))
	maps.Copy(sum, a)
	for k, n := range b {
		sum[k] += n
	}
	return sum
}

// minus leaves out what a reader met half written: its two halves are not of one moment.
func minus[K comparable](a, b map[K]uint64) map[K]uint64 {
	rest := make(map[K]uint64, len(a))
	for k, n := range a {
		if n > b[k] {
			rest[k] = n - b[k]
		}
	}
	return rest
}

// Quantile is the time that a share q of the purchases took at most, up to a fifth more than
// they did; 0 where there were none.
func (c Counts) Quantile(q float64) time.Duration {
	var all, seen uint64
	for _, n := range c.Times {
		all += n
	}
	for _, i := range slices.Sorted(maps.Keys(c.Times)) {
		if seen += c.Times[i]; float64(seen) >= q*float64(all) {
			return slotEnd(i)
		}
	}
	return 0
}

// timesMax is the number of slots: the last one has everything above half a minute.
const timesMax = 96

// slot of a time: its highest bit says which power of two, the two bits below which quarter.
func slot(d time.Duration) int {
	us := uint64(max(0, d.Microseconds()))
	if us < 4 {
		return int(us)
	}
	shift := bits.Len64(us) - 3
	return min(4*shift+int(us>>shift), timesMax-1)
}

// slotEnd is where the next slot begins.
func slotEnd(i int) time.Duration {
	shift := max(0, i/4-1)
	return time.Duration(i-4*shift+1) << shift * time.Microsecond
}
