package main

import (
	"fmt"
	"io"
)

// line is one way of selling, and all that was found of it.
type line struct {
	Name   string `json:"name"`
	Orders int    `json:"orders"` // of each round
	pace
	calm
	law
	Lost    *int   `json:"lostByKills,omitempty"` // accepted orders without a row; nil: nothing to kill
	Checked string `json:"checkedAgainst"`
}

// medianPace is the middle of each figure.
func medianPace(runs []pace) (middle pace) {
	for _, figure := range []func(*pace) *float64{
		func(p *pace) *float64 { return &p.Accepted },
		func(p *pace) *float64 { return &p.Together },
		func(p *pace) *float64 { return &p.Refused },
		func(p *pace) *float64 { return &p.APICPU },
		func(p *pace) *float64 { return &p.RedisCPU },
		func(p *pace) *float64 { return &p.RefusedAPICPU },
		func(p *pace) *float64 { return &p.RefusedCommands },
		func(p *pace) *float64 { return &p.Stored },
		func(p *pace) *float64 { return &p.Last },
		func(p *pace) *float64 { return &p.Late },
		func(p *pace) *float64 { return &p.Depth },
	} {
		all := make([]float64, len(runs))
		for i := range runs {
			all[i] = *figure(&runs[i])
		}
		*figure(&middle) = median(all)
	}
	return middle
}

// printWays prints what belongs to a way of selling. Figures that a floor does not have are dashes.
func printWays(tab io.Writer, ways []line) {
	fmt.Fprint(tab, "\torders\taccepted/s\twith worker\trefused/s\tat half: p50 ms\tp99 ms\tapi CPU µs\tRedis CPU µs\tstored/s\tlast row s\toversold\tduplicates\tlost\n")
	for _, l := range ways {
		last := figure("%.2f", l.Last)
		if l.Late > 0 {
			last = "> " + last
		}
		fmt.Fprintf(tab, "%s\t%d\t%.0f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\n", l.Name, l.Orders, l.Accepted,
			figure("%.0f", l.Together), figure("%.0f", l.Refused), figure("%.2f", l.P50), figure("%.2f", l.P99), figure("%.1f", l.APICPU),
			figure("%.1f", l.RedisCPU), figure("%.0f", l.Stored), last, l.Oversold, l.Duplicates, number(l.Lost))
	}
	fmt.Fprint(tab, "\n")
	for _, l := range ways {
		fmt.Fprintf(tab, "%s: %s\n", l.Name, l.Checked)
	}
	ours := ways[len(ways)-1]
	fmt.Fprintf(tab, "\nours at %.0f requests/s: 99 of 100 rows announced within %.1f ms of their acceptance; sold out: %.1f µs of api CPU and %.4f Redis commands for each refusal\n",
		ours.Rate, ours.StoredP99, ours.RefusedAPICPU, ours.RefusedCommands)
}

func figure(format string, f float64) string {
	if f == 0 {
		return "-"
	}
	return fmt.Sprintf(format, f)
}

// What `bench admit` is held to.
const (
	overFloorCPU    = 2.2  // times gin's own
	overFloorRedis  = 3.0  // times the raw commands
	overOneByOne    = 1.6  // times one script per request
	refusedFloorCPU = 1.5  // times gin's own
	refusedCommands = 0.01 // of Redis: it is looked up once a second, not once a request
)

// admitGoals takes the lines in the order of the report: raw commands, contenders, ours.
func admitGoals(ways []line) []goal {
	raw, gin, ours := ways[0], ways[1], ways[len(ways)-1]
	oneByOne := ways[len(ways)-2]
	goals := []goal{
		atMost("api CPU of an acceptance, times gin's floor", ours.APICPU/gin.APICPU, overFloorCPU),
		atMost("Redis CPU of an acceptance, times the raw commands", ours.RedisCPU/raw.RedisCPU, overFloorRedis),
		atLeast("accepted/s by itself, times one script per request", ours.Accepted/oneByOne.Accepted, overOneByOne),
		atMost("api CPU of a refusal, times gin's floor", ours.RefusedAPICPU/gin.APICPU, refusedFloorCPU),
		atMost("Redis commands of a refusal", ours.RefusedCommands, refusedCommands),
		atMost("orders of ours lost by kills", float64(*ours.Lost), 0),
		atMost("units of ours oversold, sold twice to one or not sold", float64(ours.Oversold+ours.Duplicates+ours.Unsold), 0),
	}
	for _, other := range ways[2 : len(ways)-1] {
		goals = append(goals,
			more("accepted/s by itself, times \""+other.Name+"\"", ours.Accepted/other.Accepted),
			more("stored/s, times \""+other.Name+"\"", ours.Stored/other.Stored))
		if other.Lost != nil {
			goals = append(goals, atLeast("orders lost by kills of \""+other.Name+"\"", float64(*other.Lost), 1))
		}
	}
	return goals
}

func atMost(text string, found, limit float64) goal {
	return goal{Text: fmt.Sprintf("%s, at most %v", text, limit), Found: found, Met: found <= limit}
}

func atLeast(text string, found, limit float64) goal {
	return goal{Text: fmt.Sprintf("%s, at least %v", text, limit), Found: found, Met: found >= limit}
}

func more(text string, found float64) goal {
	return goal{Text: text + ", more than 1", Found: found, Met: found > 1}
}
