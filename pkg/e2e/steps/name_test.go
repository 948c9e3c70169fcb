package steps

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/lua"
)

// scripts are those that write, by their hashes: what only reads leaves nothing behind.
var scripts = func() map[string]string {
	names := map[string]string{}
	for name, s := range map[string]*redis.Script{
		"seckill": lua.Seckill, "release": lua.Release, "adopt": lua.Adopt, "mark": lua.Mark, "settle": lua.Settle,
		"bury": lua.Bury, "requeue": lua.Requeue, "load": lua.Load, "fill": lua.Fill, "forget": lua.Forget,
		"open": lua.Open, "lock": lua.Lock, "unlock": lua.Unlock, "sequence": lua.Sequence, "change": lua.Change,
	} {
		names[s.Hash()] = name
	}
	return names
}()

// redisSteps names the commands of a request that change something.
func redisSteps(chunk []byte) (names []string) {
	for _, words := range commands(chunk) {
		command := strings.ToUpper(words[0])
		switch {
		case command == "EVALSHA" && len(words) > 3:
			names = appendName(names, scriptStep(scripts[words[1]], words[3]))
		case command == "EVAL" && len(words) > 3:
			sum := sha1.Sum([]byte(words[1]))
			names = appendName(names, scriptStep(scripts[hex.EncodeToString(sum[:])], words[3]))
		case command == "PUBLISH", command == "XADD", command == "HINCRBY", command == "HDEL", command == "DEL":
			names = append(names, command+" "+words[1])
		}
	}
	return names
}

// scriptStep names a run of a script. The lock of a sync is its turn.
func scriptStep(script, key string) string {
	if script == "lock" && !strings.HasPrefix(key, "lock:order:") {
		return "turn"
	}
	return script
}

func appendName(names []string, name string) []string {
	if name == "" {
		return names
	}
	return append(names, name)
}

// commands reads a request of the Redis protocol, as far as it is whole.
func commands(chunk []byte) (all [][]string) {
	for {
		n, rest, ok := number(chunk, '*')
		if !ok {
			return all
		}
		words := make([]string, n)
		for i := range words {
			var size int
			if size, rest, ok = number(rest, '$'); !ok || len(rest) < size+2 {
				return all
			}
			words[i], rest = string(rest[:size]), rest[size+2:]
		}
		if n == 0 {
			return all
		}
		all, chunk = append(all, words), rest
	}
}

func number(b []byte, kind byte) (n int, rest []byte, ok bool) {
	line, rest, found := bytes.Cut(b, []byte("\r\n"))
	if !found || len(line) < 2 || line[0] != kind {
		return 0, nil, false
	}
	n, err := strconv.Atoi(string(line[1:]))
	return n, rest, err == nil && n >= 0
}

var write = regexp.MustCompile(`(?is)^\s*(INSERT(?: IGNORE)? INTO|UPDATE|DELETE FROM)\s+(\w+)`)

// transactions names what is done on the lines to SQL. A commit is named by the first write
// of its transaction.
type transactions map[int64]string

// step names a request that changes something; "" is any other.
func (ts transactions) step(line int64, packet []byte) string {
	const head, query = 4, 3 // bytes before the command; the command that is a text
	if len(packet) <= head || packet[head-1] != 0 || packet[head] != query {
		return ""
	}
	text := packet[head+1:]
	switch {
	case bytes.HasPrefix(text, []byte("START TRANSACTION")), bytes.HasPrefix(text, []byte("ROLLBACK")):
		delete(ts, line)
	case bytes.HasPrefix(text, []byte("COMMIT")):
		if first := ts[line]; first != "" {
			delete(ts, line)
			return "COMMIT of " + first
		}
	default:
		if words := write.FindSubmatch(text); words != nil {
			verb, _, _ := strings.Cut(strings.ToUpper(string(words[1])), " ")
			name := verb + " " + string(words[2])
			if ts[line] == "" {
				ts[line] = name
			}
			return name
		}
	}
	return ""
}

func TestNames(t *testing.T) {
	require.Equal(t, []string{"settle", "PUBLISH seckill:settled"}, redisSteps([]byte(
		"*4\r\n$7\r\nevalsha\r\n$40\r\n"+lua.Settle.Hash()+"\r\n$1\r\n1\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\n*3\r\n$7\r\npublish\r\n$15\r\nseckill:settled\r\n$1\r\n1\r\n")))
	require.Empty(t, redisSteps([]byte("*2\r\n$3\r\nGET\r\n$1\r\na\r\n")))
	require.Empty(t, redisSteps([]byte("*2\r\n$3\r\nGE")))

	ts := transactions{}
	say := func(line int64, text string) string {
		return ts.step(line, append([]byte{0, 0, 0, 0, 3}, text...))
	}
	require.Empty(t, say(1, "START TRANSACTION"))
	require.Equal(t, "INSERT voucher_order", say(1, "INSERT INTO voucher_order (id) VALUES (1)"))
	require.Equal(t, "UPDATE seckill_voucher", say(1, "\n\tupdate seckill_voucher SET stock = 1"))
	require.Empty(t, say(2, "COMMIT"), "of what only read")
	require.Equal(t, "COMMIT of INSERT voucher_order", say(1, "COMMIT"))
	require.Empty(t, say(1, "SELECT 1"))
}
