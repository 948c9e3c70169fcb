package httpapi

import (
	"net/http"

	"github.com/openseckill/seckill/pkg/seckill"
)

// What HTTP itself refuses, before a sale is asked.
const (
	routeNotFound    seckill.Code = "ROUTE_NOT_FOUND"
	methodNotAllowed seckill.Code = "METHOD_NOT_ALLOWED"
	bodyTooLarge     seckill.Code = "BODY_TOO_LARGE"
	bodyTooSlow      seckill.Code = "BODY_TOO_SLOW"
	unsupportedMedia seckill.Code = "UNSUPPORTED_MEDIA_TYPE"
)

// answer is how one code is told to a client.
type answer struct {
	status int
	en, zh string // titles
	detail string // said where nothing more exact is known
	retry  bool   // the same request may succeed soon: it carries Retry-After
}

// answers is the one table from code to answer. AlreadyOrdered has no row: to HTTP it is
// no error but the repeat of an earlier answer.
var answers = map[seckill.Code]answer{
	seckill.SoldOut:    {status: http.StatusConflict, en: "Sold out", zh: "已售罄", detail: "No unit of this voucher is left."},
	seckill.NotStarted: {status: http.StatusConflict, en: "Not started", zh: "尚未开始", detail: "The sale has not begun.", retry: true},
	seckill.Ended:      {status: http.StatusConflict, en: "Ended", zh: "已结束", detail: "The sale is over."},
	seckill.NotReady:   {status: http.StatusServiceUnavailable, en: "Not ready", zh: "正在准备", detail: "The voucher is being made ready. Try again.", retry: true},

	seckill.Invalid:         {status: http.StatusBadRequest, en: "Invalid request", zh: "请求无效", detail: "The request is malformed or out of bounds."},
	seckill.Unauthenticated: {status: http.StatusUnauthorized, en: "Not signed in", zh: "未登录", detail: "The bearer token is not valid."},
	seckill.Forbidden:       {status: http.StatusForbidden, en: "Not allowed", zh: "没有权限", detail: "The caller's role does not allow this."},
	seckill.VoucherNotFound: {status: http.StatusNotFound, en: "Voucher not found", zh: "优惠券不存在", detail: "There is no such voucher."},
	seckill.OrderNotFound:   {status: http.StatusNotFound, en: "Order not found", zh: "订单不存在", detail: "The caller has no such order."},
	seckill.Outdated:        {status: http.StatusConflict, en: "Outdated", zh: "版本已过期", detail: "Something newer is there already."},
	seckill.Conflict:        {status: http.StatusConflict, en: "Conflict", zh: "冲突", detail: "The id or key is taken by something else."},

	seckill.Unavailable: {status: http.StatusServiceUnavailable, en: "Temporarily unavailable", zh: "服务暂不可用", detail: "Something behind this did not answer, so what became of the request is not known. Try again.", retry: true},
	seckill.Overloaded:  {status: http.StatusServiceUnavailable, en: "Overloaded", zh: "服务繁忙", detail: "Nothing was done. Try again.", retry: true},
	seckill.RateLimited: {status: http.StatusTooManyRequests, en: "Too many requests", zh: "请求过于频繁", detail: "You ask too often. Nothing was done. Try again.", retry: true},
	seckill.Internal:    {status: http.StatusInternalServerError, en: "Internal error", zh: "内部错误", detail: "The fault is on our side and has been recorded."},

	routeNotFound:    {status: http.StatusNotFound, en: "No such address", zh: "地址不存在", detail: "Nothing is served at this address."},
	methodNotAllowed: {status: http.StatusMethodNotAllowed, en: "Method not allowed", zh: "不支持该方法", detail: "This address does not know the method."},
	bodyTooLarge:     {status: http.StatusRequestEntityTooLarge, en: "Body too large", zh: "请求体过大", detail: "A request body may have up to 65536 bytes."},
	bodyTooSlow:      {status: http.StatusRequestTimeout, en: "Body too slow", zh: "请求体接收超时", detail: "The request body did not arrive in time."},
	unsupportedMedia: {status: http.StatusUnsupportedMediaType, en: "Unsupported media type", zh: "不支持的媒体类型", detail: "The body must be application/json."},
}

// answerTo returns the row of a code. A code without one must not reach a client: it is
// told as Internal.
func answerTo(code seckill.Code) (seckill.Code, answer) {
	if a, ok := answers[code]; ok {
		return code, a
	}
	return seckill.Internal, answers[seckill.Internal]
}
