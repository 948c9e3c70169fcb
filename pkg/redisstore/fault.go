package redisstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/seckill"
)

// The first words of replies by which a server says that it cannot serve now: it loads,
// was demoted, lost its master, is full or cannot persist. The command did nothing.
var notNow = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK",
	"BUSY", "MISCONF", "OOM", "NOREPLICAS", "UNBLOCKED", "NOGROUP", "EXECABORT", "UNKILLABLE",
}

// fault gives a driver error its code. What the server refused for now, and silence of any
// kind (dial, time-out, lost reply, ended context), is Unavailable: after silence the
// command may have run. Any other reply is Internal: a bug, or foreign data in our keys.
func fault(op string, err error) error {
	if err == nil {
		return nil
	}
	code := seckill.Unavailable
	var reply redis.Error
	if errors.As(err, &reply) && !refusedForNow(reply) {
		code = seckill.Internal
	}
	return &seckill.Error{Op: op, Code: code, Err: err}
}

func refusedForNow(err redis.Error) bool {
	text := err.Error()
	// Inside a script the server puts "ERR " or nothing in front, by version.
	text = strings.TrimPrefix(text, "ERR ")
	for _, word := range notNow {
		if strings.HasPrefix(text, word) {
			return true
		}
	}
	return strings.Contains(text, "max number of clients")
}

// foreign is the error of a reply that no script of ours gives.
func foreign(op string, reply any) error {
	return &seckill.Error{Op: op, Code: seckill.Internal, Err: fmt.Errorf("unexpected reply %.200q", fmt.Sprint(reply))}
}

// unlessType drops the error by which the server says that a key is of another type. It then
// counts as missing, and the next sync drops it.
func unlessType(err error) error {
	if hasPrefix(err, "WRONGTYPE") {
		return nil
	}
	return err
}

// hasPrefix reports whether the server answered err, beginning with word.
func hasPrefix(err error, word string) bool {
	var reply redis.Error
	return errors.As(err, &reply) && strings.HasPrefix(reply.Error(), word)
}
