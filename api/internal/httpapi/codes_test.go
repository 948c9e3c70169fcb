package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

func TestEveryCodeHasAnAnswer(t *testing.T) {
	for _, code := range seckill.Codes() {
		if code == seckill.AlreadyOrdered {
			require.NotContains(t, answers, code, "the repeat of an answer is no error")
			continue
		}
		require.Contains(t, answers, code)
	}
	for code, a := range answers {
		require.NotEmpty(t, a.en, code)
		require.NotEmpty(t, a.zh, code)
		require.NotEmpty(t, a.detail, code)
		require.NotEmpty(t, a.zhDetail, code)
		require.GreaterOrEqual(t, a.status, 400, code)
		require.Less(t, a.status, 600, code)
		if a.status == 503 {
			require.True(t, a.retry, "%s is worth another try", code)
		}
	}
}

func TestProblemOfAnUnknownCodeIsInternal(t *testing.T) {
	gin.SetMode(gin.TestMode)
	for _, err := range []error{seckill.Code("NEW"), seckill.AlreadyOrdered} {
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = httptest.NewRequest(http.MethodGet, "/", nil)
		p := problem(c, err)
		require.Equal(t, 500, p.Status)
		require.Equal(t, seckill.Internal, p.Code)
	}
}

func TestRetryAfterRoundsUp(t *testing.T) {
	for want, ds := range map[string][]time.Duration{
		"1":    {-time.Hour, 0, 1, time.Second},
		"2":    {time.Second + 1, 2 * time.Second},
		"3600": {time.Hour, 1000 * time.Hour},
	} {
		for _, d := range ds {
			require.Equal(t, want, retryAfter(d), d.String())
		}
	}
}

func TestChinese(t *testing.T) {
	for header, want := range map[string]bool{
		"":                                 false,
		"*":                                false,
		"en":                               false,
		"fr":                               false,
		"en-GB,zh":                         false,
		"zh":                               true,
		"ZH-hans-CN":                       true,
		"fr, zh;q=0.1":                     true,
		"zh;q=0.9, en;q=0.8":               true,
		"en;q=0.8, zh;q=0.9":               true,
		"zh ; q=0.5 , en ; q=0.6":          false,
		"zh;q=0":                           false,
		"zh;q=abc":                         true,
		"zhuang":                           false,
		",,;;==,":                          false,
		"zh-CN,zh;q=0.9,en-US;q=0.8,*;q=1": false,
	} {
		require.Equal(t, want, chinese(header), header)
	}
	require.Zero(t, testing.AllocsPerRun(10, func() { chinese("zh-CN,zh;q=0.9,en;q=0.8") }))
}
