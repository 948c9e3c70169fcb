package lua

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The commands that write, of those a script may call.
var writes = regexp.MustCompile(`redis\.p?call\('(XADD|SADD|SREM|HSET|HSETNX|HDEL|DECRBY|SET|INCRBY|XACK|XDEL|XTRIM|XGROUP|UNLINK|DEL|PEXPIRE)'`)

var (
	headLine  = regexp.MustCompile(`^-- (KEYS|ARGV|USES|RETURNS|REPLAY|COST)(?:\[(\d+)(\+?)\])?\s+(.+)$`)
	bodyArg   = regexp.MustCompile(`\b(KEYS|ARGV)\[(\d+)\]`)
	bodyRange = regexp.MustCompile(`ipairs\((KEYS)\)|unpack\((ARGV), (\d+)\)|for i = (\d+), (#ARGV|\d+)`)
	tagHead   = regexp.MustCompile(`\{"([A-Z_]+)"`)
	tagBody   = regexp.MustCompile(`return \{'([A-Z_]+)'`)
	costWrite = regexp.MustCompile(`at most (\d+) writes?`)
)

type script struct {
	name, body string
	args       map[string][]int  // "KEYS" -> declared places, in order
	rest       map[string]int    // "ARGV" -> the place from which any number follow, 0: none
	about      map[string]string // "ARGV1" -> its words
	lines      map[string]string // "RETURNS" -> its words
}

func parse(text string) (script, error) {
	s := script{args: map[string][]int{}, rest: map[string]int{}, about: map[string]string{}, lines: map[string]string{}}
	lines := strings.Split(text, "\n")
	name, _, ok := strings.Cut(strings.TrimPrefix(lines[0], "-- "), ": ")
	if !ok {
		return s, fmt.Errorf("the first line is not `-- name: what it does`")
	}
	s.name = name
	i := 1
	for ; i < len(lines) && strings.HasPrefix(lines[i], "--"); i++ {
		m := headLine.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		if m[2] == "" {
			s.lines[m[1]] = m[4]
			continue
		}
		n, _ := strconv.Atoi(m[2])
		s.args[m[1]] = append(s.args[m[1]], n)
		s.about[m[1]+m[2]] = m[4]
		if m[3] == "+" {
			s.rest[m[1]] = n
		}
	}
	s.body = strings.Join(lines[i:], "\n")
	return s, nil
}

// check holds a script's body to its header and to the rules that all scripts share.
func check(stem, text string) error {
	s, err := parse(text)
	if err != nil {
		return err
	}
	if s.name != stem {
		return fmt.Errorf("the header names %q", s.name)
	}
	for _, want := range []string{"RETURNS", "REPLAY", "COST"} {
		if s.lines[want] == "" {
			return fmt.Errorf("no %s in the header", want)
		}
	}
	for _, rule := range []func(script) error{checkArgs, checkTags, checkOrder, checkCost, checkIDs} {
		if err := rule(s); err != nil {
			return err
		}
	}
	return nil
}

func checkArgs(s script) error {
	used := map[string]map[int]bool{"KEYS": {}, "ARGV": {}}
	for _, m := range bodyArg.FindAllStringSubmatch(s.body, -1) {
		n, _ := strconv.Atoi(m[2])
		used[m[1]][n] = true
	}
	for _, m := range bodyRange.FindAllStringSubmatch(s.body, -1) {
		switch {
		case m[1] != "":
			used["KEYS"][1] = true
		case m[2] != "":
			n, _ := strconv.Atoi(m[3])
			used["ARGV"][n] = true
		case m[5] == "#ARGV":
			n, _ := strconv.Atoi(m[4])
			used["ARGV"][n] = true
		default:
			last, _ := strconv.Atoi(m[5])
			for n := range last {
				used["KEYS"][n+1] = true
			}
		}
	}
	for kind, places := range used {
		for i, n := range s.args[kind] {
			if n != i+1 {
				return fmt.Errorf("%s[%d] stands where %s[%d] belongs", kind, n, kind, i+1)
			}
			if !places[n] {
				return fmt.Errorf("%s[%d] is declared and not used", kind, n)
			}
		}
		for n := range places {
			if n > len(s.args[kind]) && (s.rest[kind] == 0 || n < s.rest[kind]) {
				return fmt.Errorf("%s[%d] is used and not declared", kind, n)
			}
		}
	}
	return nil
}

func checkTags(s script) error {
	declared, returned := map[string]bool{}, map[string]bool{}
	for _, m := range tagHead.FindAllStringSubmatch(s.lines["RETURNS"], -1) {
		declared[m[1]] = true
	}
	for _, m := range tagBody.FindAllStringSubmatch(s.body, -1) {
		returned[m[1]] = true
	}
	if !maps.Equal(declared, returned) {
		return fmt.Errorf("RETURNS declares %v, the body returns %v", slices.Sorted(maps.Keys(declared)), slices.Sorted(maps.Keys(returned)))
	}
	return nil
}

// The first tag of RETURNS is the success; every other one must be decided before a write.
func checkOrder(s script) error {
	first := writes.FindStringIndex(s.body)
	if first == nil {
		return fmt.Errorf("it writes nothing")
	}
	tags := tagHead.FindAllStringSubmatch(s.lines["RETURNS"], -1)
	for _, m := range tagBody.FindAllStringSubmatchIndex(s.body, -1) {
		if tag := s.body[m[2]:m[3]]; tag != tags[0][1] && m[0] > first[0] {
			return fmt.Errorf("%s is decided after a write", tag)
		}
	}
	return nil
}

func checkCost(s script) error {
	m := costWrite.FindStringSubmatch(s.lines["COST"])
	if m == nil {
		return nil // of a script over many
	}
	most, _ := strconv.Atoi(m[1])
	if n := len(writes.FindAllString(s.body, -1)); n > most {
		return fmt.Errorf("COST says at most %d writes, the body has %d", most, n)
	}
	return nil
}

// Ids stay strings, and keys come from the caller.
func checkIDs(s script) error {
	if strings.Contains(s.body, "cjson") {
		return fmt.Errorf("cjson rounds ids")
	}
	if strings.Contains(s.body, " .. ") {
		return fmt.Errorf("it joins strings: keys come from the caller")
	}
	for at, words := range s.about {
		place := at[:4] + "[" + at[4:] + "]"
		if strings.Contains(words, " id") && strings.Contains(s.body, "tonumber("+place) {
			return fmt.Errorf("%s is an id and turned into a number", place)
		}
	}
	return nil
}

func stems(t *testing.T) []string {
	entries, err := files.ReadDir(".")
	require.NoError(t, err)
	var stems []string
	for _, e := range entries {
		if stem := strings.TrimSuffix(e.Name(), ".lua"); stem != "books" {
			stems = append(stems, stem)
		}
	}
	return stems
}

func TestContract(t *testing.T) {
	for _, stem := range stems(t) {
		t.Run(stem, func(t *testing.T) { require.NoError(t, check(stem, read(stem))) })
	}
}

func TestContractCanFail(t *testing.T) {
	for _, c := range []struct{ name, stem, old, new, complaint string }{
		{"another name", "adopt", "-- adopt:", "-- adapt:", `the header names "adapt"`},
		{"no name", "adopt", "-- adopt:", "-- adopt", "the first line"},
		{"no replay line", "adopt", "-- REPLAY", "-- ", "no REPLAY"},
		{"a place left out", "adopt", "-- ARGV[2]", "-- ARGV[4]", "stands where ARGV[2] belongs"},
		{"an argument that is not declared", "adopt", "ARGV[3])", "ARGV[3], ARGV[9])", "is used and not declared"},
		{"an argument that is not used", "adopt", "ARGV[1], ARGV[3]", "ARGV[1], ARGV[1]", "ARGV[3] is declared and not used"},
		{"a key that is not declared", "settle", "'XDEL', KEYS[1]", "'XDEL', KEYS[2]", "KEYS[2] is used and not declared"},
		{"an answer that is not declared", "release", "return {'NOT_HELD'}", "return {'GONE'}", "RETURNS declares"},
		{"a refusal after a write", "adopt", "if redis", "redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])\nif redis", "NOT_HELD is decided after a write"},
		{"more writes than COST says", "requeue", "\nredis.call('XADD'", "\nredis.call('DEL', KEYS[1])\nredis.call('XADD'", "at most 1 writes, the body has 2"},
		{"no write at all", "adopt", "'HSET'", "'HGET'", "it writes nothing"},
		{"an id as a number", "adopt", "= ARGV[2] then", "= tonumber(ARGV[2]) then", "ARGV[2] is an id"},
		{"a key built in the script", "adopt", "'HGET', KEYS[1]", "'HGET', 'x:' .. KEYS[1]", "keys come from the caller"},
		{"JSON", "adopt", "return {'ADOPTED'}", "cjson.encode(ARGV)\nreturn {'ADOPTED'}", "cjson"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := read(c.stem)
			require.Contains(t, text, c.old)
			require.ErrorContains(t, check(c.stem, strings.ReplaceAll(text, c.old, c.new)), c.complaint)
		})
	}
}
