package peers.zuul1;

import org.apache.coyote.http11.AbstractHttp11Protocol;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.embedded.tomcat.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.cloud.netflix.zuul.EnableZuulProxy;
import org.springframework.context.annotation.Bean;

/** Zuul 1 with what Spring Cloud gives it and nothing else. */
@SpringBootApplication
@EnableZuulProxy
public class Application {

    /** Boot 2.3 has no key for it; the name is the one that later versions have. Tomcat closes a connection after 100 requests otherwise. */
    @Bean
    WebServerFactoryCustomizer<TomcatServletWebServerFactory> keepAlive(
            @Value("${server.tomcat.max-keep-alive-requests:100}") int requests) {
        return factory -> factory.addConnectorCustomizers(connector ->
                ((AbstractHttp11Protocol<?>) connector.getProtocolHandler()).setMaxKeepAliveRequests(requests));
    }

    public static void main(String[] words) {
        SpringApplication.run(Application.class, words);
    }
}
