// Package lua holds the scripts of a sale. It alone loads them: every other package calls
// the typed variables below and never sees a script's text. It imports go-redis and
// nothing of ours. Each script's header says what it takes, answers and costs, and
// contract_test.go holds the body to it.
package lua

import (
	"embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua
var files embed.FS

// The scripts, by the stems of their files.
var (
	Seckill  = load("seckill")
	Meet     = load("meet")
	Release  = load("release")
	Adopt    = load("adopt")
	Mark     = load("mark")
	Settle   = load("settle")
	Bury     = load("bury")
	Replay   = load("replay")
	Retire   = load("retire")
	Requeue  = load("requeue")
	Load     = load("load")
	Fill     = load("fill")
	Forget   = load("forget")
	Open     = load("open")
	Unload   = load("unload")
	Change   = load("change")
	Cut      = load("cut")
	Lock     = load("lock")
	Unlock   = load("unlock")
	Trim     = load("trim")
	Extend   = load("extend")
	Sequence = load("sequence")
)

// load reads a script and puts what it USES in front of it.
func load(stem string) *redis.Script {
	text, used := read(stem), ""
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "-- USES "); ok {
			used = read(strings.TrimSpace(name))
		}
	}
	return redis.NewScript(used + text)
}

func read(stem string) string {
	b, err := files.ReadFile(stem + ".lua")
	if err != nil {
		panic(err) // a name in this file without its file: no build passes its tests with it
	}
	return string(b)
}
