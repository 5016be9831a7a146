package peers.zuul2;

import com.netflix.appinfo.DataCenterInfo;
import com.netflix.appinfo.InstanceInfo;
import com.netflix.client.config.IClientConfig;
import com.netflix.loadbalancer.AbstractServerList;
import com.netflix.niws.loadbalancer.DiscoveryEnabledServer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/** The servers of the command line. Ribbon's own static list makes servers of a class that Zuul 2 cannot take. */
public final class Servers extends AbstractServerList<DiscoveryEnabledServer> {
    static final Map<String, List<String>> KNOWN = new ConcurrentHashMap<>();
    static final DataCenterInfo MY_OWN = () -> DataCenterInfo.Name.MyOwn;

    private String service;

    @Override
    public void initWithNiwsConfig(IClientConfig config) {
        service = config.getClientName();
    }

    @Override
    public List<DiscoveryEnabledServer> getInitialListOfServers() {
        return KNOWN.getOrDefault(service, List.of()).stream().map(this::server).collect(Collectors.toList());
    }

    @Override
    public List<DiscoveryEnabledServer> getUpdatedListOfServers() {
        return getInitialListOfServers();
    }

    private DiscoveryEnabledServer server(String authority) {
        int colon = authority.lastIndexOf(':');
        String host = authority.substring(0, colon);
        var info = InstanceInfo.Builder.newBuilder().setAppName(service).setInstanceId(authority).setHostName(host)
                .setIPAddr(host).setPort(Integer.parseInt(authority.substring(colon + 1))).setVIPAddress(service)
                .setDataCenterInfo(MY_OWN).build();
        return new DiscoveryEnabledServer(info, false, true);
    }
}
