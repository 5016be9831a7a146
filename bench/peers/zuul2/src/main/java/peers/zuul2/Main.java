package peers.zuul2;

import com.netflix.appinfo.ApplicationInfoManager;
import com.netflix.appinfo.InstanceInfo;
import com.netflix.appinfo.MyDataCenterInstanceConfig;
import com.netflix.netty.common.accesslog.AccessLogPublisher;
import com.netflix.netty.common.metrics.EventLoopGroupMetrics;
import com.netflix.netty.common.status.ServerStatusManager;
import com.netflix.spectator.api.DefaultRegistry;
import com.netflix.spectator.api.Registry;
import com.netflix.zuul.BasicRequestCompleteHandler;
import com.netflix.zuul.DefaultFilterFactory;
import com.netflix.zuul.StaticFilterLoader;
import com.netflix.zuul.context.ZuulSessionContextDecorator;
import com.netflix.zuul.netty.server.BaseServerStartup;
import com.netflix.zuul.netty.server.DirectMemoryMonitor;
import com.netflix.zuul.netty.server.NamedSocketAddress;
import com.netflix.zuul.netty.server.ZuulServerChannelInitializer;
import com.netflix.zuul.origins.BasicNettyOriginManager;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.group.ChannelGroup;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.logging.Level;
import java.util.logging.Logger;

/** Zuul 2's core, wired by hand: {@code main(port, service=host:port[,host:port]...)}. Limits are system properties. */
public final class Main extends BaseServerStartup {
    private final int port;

    private Main(int port, Registry registry, ApplicationInfoManager self) {
        super(new ServerStatusManager(self),
                new StaticFilterLoader(new DefaultFilterFactory(), Set.of(Routes.class, NoRoute.class, Unchanged.class)),
                new ZuulSessionContextDecorator(new BasicNettyOriginManager(registry)),
                (filter, status) -> { },
                new BasicRequestCompleteHandler(),
                registry,
                new DirectMemoryMonitor(registry),
                new EventLoopGroupMetrics(registry),
                null,
                self,
                new AccessLogPublisher("ACCESS", (channel, request) -> "-"));
        this.port = port;
    }

    @Override
    protected Map<NamedSocketAddress, ChannelInitializer<?>> chooseAddrsAndChannels(ChannelGroup clients) {
        var config = defaultChannelConfig("http");
        var dependencies = defaultChannelDependencies("http");
        var address = new NamedSocketAddress("http", new InetSocketAddress("127.0.0.1", port));
        return Map.of(address, new ZuulServerChannelInitializer("http", config, dependencies, clients));
    }

    /** Held, since loggers that nobody holds forget their level. Netty would log every event of every connection. */
    private static final Logger ROOT = Logger.getLogger("");

    public static void main(String[] words) throws Exception {
        ROOT.setLevel(Level.WARNING);
        for (String service : Arrays.asList(words).subList(1, words.length)) {
            String[] parts = service.split("=");
            Servers.KNOWN.put(parts[0], List.of(parts[1].split(",")));
            System.setProperty(parts[0] + ".ribbon.NIWSServerListClassName", Servers.class.getName());
        }
        var self = InstanceInfo.Builder.newBuilder().setAppName("zuul2").setInstanceId("zuul2")
                .setDataCenterInfo(Servers.MY_OWN).build();
        var config = new MyDataCenterInstanceConfig();
        var main = new Main(Integer.parseInt(words[0]), new DefaultRegistry(), new ApplicationInfoManager(config, self));
        main.init();
        main.server().start();
        main.server().awaitTermination();
    }
}
