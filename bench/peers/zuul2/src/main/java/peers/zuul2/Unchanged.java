package peers.zuul2;

import com.netflix.zuul.Filter;
import com.netflix.zuul.filters.FilterType;
import com.netflix.zuul.filters.http.HttpOutboundSyncFilter;
import com.netflix.zuul.message.http.HttpResponseMessage;

/** Leaves answers as they are; the core refuses connections without any filter for answers. */
@Filter(order = 1, type = FilterType.OUTBOUND)
public final class Unchanged extends HttpOutboundSyncFilter {

    @Override
    public int filterOrder() {
        return 1;
    }

    @Override
    public boolean shouldFilter(HttpResponseMessage response) {
        return false;
    }

    @Override
    public HttpResponseMessage apply(HttpResponseMessage response) {
        return response;
    }
}
