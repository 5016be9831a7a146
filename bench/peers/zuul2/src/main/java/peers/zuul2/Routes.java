package peers.zuul2;

import com.netflix.zuul.Filter;
import com.netflix.zuul.filters.FilterType;
import com.netflix.zuul.filters.http.HttpInboundSyncFilter;
import com.netflix.zuul.message.http.HttpRequestMessage;
import com.netflix.zuul.netty.filter.ZuulEndPointRunner;

/** Sends {@code /service/...} to the service of that name, the path unchanged. */
@Filter(order = 1, type = FilterType.INBOUND)
public final class Routes extends HttpInboundSyncFilter {

    @Override
    public int filterOrder() {
        return 1;
    }

    @Override
    public boolean shouldFilter(HttpRequestMessage request) {
        return true;
    }

    @Override
    public HttpRequestMessage apply(HttpRequestMessage request) {
        String path = request.getPath();
        int end = path.indexOf('/', 1);
        String service = path.substring(1, end < 0 ? path.length() : end);
        if (Servers.KNOWN.containsKey(service)) {
            request.getContext().setEndpoint(ZuulEndPointRunner.PROXY_ENDPOINT_FILTER_NAME);
            request.getContext().setRouteVIP(service);
        } else {
            request.getContext().setEndpoint(NoRoute.class.getCanonicalName());
        }
        return request;
    }
}
